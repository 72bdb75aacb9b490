-- A small schema with a column of every common type, for from-mysql.md. MySQL and MariaDB run it.
CREATE DATABASE museum CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE museum;

CREATE TABLE artist (
    id       INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name     VARCHAR(60) NOT NULL,
    born     YEAR,
    country  CHAR(2) CHARACTER SET ascii COLLATE ascii_general_ci,
    school   VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci,
    life     TEXT COMMENT 'some sentences',
    UNIQUE KEY by_name (name)
) COMMENT = 'who made them';

CREATE TABLE work (
    id         INT AUTO_INCREMENT PRIMARY KEY,
    artist_id  INT UNSIGNED NOT NULL,
    title      VARCHAR(100) NOT NULL DEFAULT 'it''s untitled',
    made       DATE,
    height_cm  FLOAT,
    width_cm   DOUBLE,
    value      DECIMAL(14,2) NOT NULL DEFAULT 0.00,
    shown      BOOLEAN NOT NULL DEFAULT TRUE,
    hall       TINYINT UNSIGNED,
    shelf      SMALLINT,
    crate_no   MEDIUMINT,
    catalogue  BIGINT,
    picture    MEDIUMBLOB,
    digest     BINARY(16),
    tag        VARBINARY(20),
    note       LONGTEXT CHARACTER SET utf8mb3,
    changed    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    KEY by_title (title(10), made),
    KEY by_place (hall, shelf),
    CONSTRAINT of_artist FOREIGN KEY (artist_id) REFERENCES artist (id) ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT worth CHECK (value >= 0)
);

CREATE TABLE visit (
    id       BIGINT AUTO_INCREMENT PRIMARY KEY,
    work_id  INT,
    day      DATE NOT NULL,
    came     TIME(3) NOT NULL,
    left_at  DATETIME(6),
    paid     DECIMAL(6,2) NOT NULL,
    remark   VARCHAR(80),
    KEY (day),
    FOREIGN KEY (work_id) REFERENCES work (id) ON DELETE SET NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;

INSERT INTO artist (name, born, country, school, life) VALUES
    ('Käthe Kollwitz', NULL, 'DE', 'Düsseldorf', 'drew and\ncut wood'),
    ('Paula Modersohn', NULL, 'DE', 'Worpswede', NULL),
    ('葛飾 北斎', NULL, 'JP', NULL, 'waves, "mountains" and \\ more'),
    ('Nam June Paik', 1932, 'KR', 'Fluxus', '📺');

INSERT INTO work (artist_id, title, made, height_cm, width_cm, value, hall, shelf, crate_no, catalogue, picture, digest,
        tag, note) VALUES
    (1, 'Der Weberaufstand', '1897-01-01', 23.5, 29.25, 120000.50, 1, -3, -8388608, 9223372036854775807,
        x'89504E470D0A1A0A00FF27', x'00112233445566778899AABBCCDDEEFF', x'0102', 'née'),
    (1, 'Mutter mit totem Kind', '1903-06-01', NULL, NULL, 80000, 1, 4, 8388607, -9223372036854775808, NULL, NULL, '', NULL),
    (2, 'Selbstbildnis', '1906-05-25', 101.8, 70.2, 950000, 200, 32767, 0, 0, x'00', NULL, NULL, ''),
    (3, '神奈川沖浪裏', NULL, 25.7, 37.9, 2000000, 3, 1, 1, 1, NULL, NULL, NULL, 'wave'),
    (4, 'TV Buddha', '1974-02-28', 160, 215, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, DEFAULT, '1995-12-31', 1e-3, 1e30, 12.34, 255, -32768, 5, 5, NULL, NULL, NULL, NULL);

INSERT INTO visit (work_id, day, came, left_at, paid, remark)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
SELECT IF(i % 7 = 0, NULL, 1 + i % 6), '2024-01-01' + INTERVAL i DAY, SEC_TO_TIME(36000 + i * 7.125),
       '2024-01-01 12:00:00' + INTERVAL i * 1000001 MICROSECOND, 5 + i % 4 * 2.5, IF(i % 3 = 0, CONCAT('nr ', i), NULL)
FROM n;
INSERT INTO visit (work_id, day, came, left_at, paid, remark)
SELECT work_id, day + INTERVAL 1 DAY, came, left_at, paid + 1, remark FROM visit;
INSERT INTO visit (work_id, day, came, left_at, paid, remark)
SELECT work_id, day, came, NULL, paid, 'again' FROM visit LIMIT 1000;

CREATE VIEW most_seen AS
SELECT w.title, COUNT(*) AS visits, SUM(v.paid) AS paid
FROM visit v JOIN work w ON w.id = v.work_id GROUP BY w.id, w.title;

CREATE VIEW by_century AS
SELECT 1 + FLOOR((YEAR(made) - 1) / 100) AS century, COUNT(*) AS works, MAX(value) AS dearest
FROM work WHERE made IS NOT NULL GROUP BY century;
