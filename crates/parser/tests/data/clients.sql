-- name: mysql client
select @@version_comment limit 1
;;
-- name: mysql client completion
show databases
;;
-- name: mysql client user
select USER()
;;
-- name: mysql client status
select DATABASE(), USER() limit 1
;;
-- name: mysql client charset
select @@character_set_client, @@character_set_connection, @@character_set_server, @@character_set_database limit 1
;;
-- name: mariadb client
SELECT version(), @@version_comment LIMIT 1
;;
-- name: PyMySQL
SET AUTOCOMMIT = 0
;;
-- name: PyMySQL names
SET NAMES utf8mb4
;;
-- name: PyMySQL warnings
SHOW WARNINGS
;;
-- name: mysql-connector-python
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci'
;;
-- name: mysql-connector-python autocommit
SET @@session.autocommit = OFF
;;
-- name: Connector/J
/* mysql-connector-j-8.4.0 (Revision: 1) */SELECT  @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout
;;
-- name: Connector/J results
SET character_set_results = NULL
;;
-- name: Connector/J mode
SET sql_mode='STRICT_TRANS_TABLES'
;;
-- name: Connector/J keys
SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, CASE WHEN UPPER(DATA_TYPE)='DECIMAL' THEN 3 WHEN UPPER(DATA_TYPE) LIKE 'INT%' THEN 4 ELSE 1111 END AS DATA_TYPE, ORDINAL_POSITION AS 'KEY_SEQ' FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME LIKE 't' ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
;;
-- name: go-sql-driver
SELECT @@max_allowed_packet
;;
-- name: SQLAlchemy
SELECT CAST('test collated returns' AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS anon_1
;;
-- name: SQLAlchemy isolation
SELECT @@transaction_isolation
;;
-- name: Django
SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL
;;
-- name: Django isolation
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
;;
-- name: Django test
SET SQL_AUTO_IS_NULL = 0
;;
-- name: Rails
SET @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483
;;
-- name: phpMyAdmin
SELECT *, `TABLE_SCHEMA` AS `Db`, `TABLE_NAME` AS `Name`, `TABLE_TYPE` AS `TABLE_TYPE` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` COLLATE utf8_bin IN ('d') ORDER BY Name ASC
;;
-- name: Workbench
SHOW SESSION VARIABLES LIKE 'lower_case_table_names'
;;
-- name: Workbench safe updates
SET SQL_SAFE_UPDATES=1, SQL_SELECT_LIMIT=1000
;;
-- name: sysbench drop
DROP TABLE IF EXISTS sbtest1
;;
-- name: sysbench create
CREATE TABLE sbtest1( id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) ) /*! ENGINE = innodb */
;;
-- name: sysbench index
CREATE INDEX k_1 ON sbtest1(k)
;;
-- name: sysbench point
SELECT c FROM sbtest1 WHERE id=?
;;
-- name: sysbench order
SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c
;;
-- name: sysbench distinct
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c
;;
-- name: sysbench update
UPDATE sbtest1 SET k=k+1 WHERE id=?
;;
-- name: sysbench insert
INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)
;;
-- name: mysqldump head
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */
;;
-- name: mysqldump names
/*!50503 SET NAMES utf8mb4 */
;;
-- name: mysqldump keys
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */
;;
-- name: mysqldump mode
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */
;;
-- name: mysqldump notes
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */
;;
-- name: mysqldump gtid
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5'
;;
-- name: mysqldump database
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */
;;
-- name: mysqldump client charset
/*!50503 SET character_set_client = utf8mb4 */
;;
-- name: mysqldump saved
/*!40101 SET @saved_cs_client     = @@character_set_client */
;;
-- name: mysqldump table
CREATE TABLE `orders` (
  `o_orderkey` bigint NOT NULL,
  `o_totalprice` decimal(15,2) NOT NULL DEFAULT '0.00',
  `o_orderdate` date DEFAULT NULL,
  `o_ts` timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `o_comment` varchar(79) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL COMMENT 'it''s; a comment',
  `g` int GENERATED ALWAYS AS ((`o_orderkey` + 1)) VIRTUAL,
  `h` int /*!80023 INVISIBLE */ DEFAULT '0',
  PRIMARY KEY (`o_orderkey`),
  UNIQUE KEY `u` (`o_orderdate`,`o_totalprice` DESC),
  KEY `fk` (`o_comment`(10)) USING BTREE /*!80000 INVISIBLE */,
  KEY `fun` ((lower(`o_comment`))),
  CONSTRAINT `fk_1` FOREIGN KEY (`o_orderkey`) REFERENCES `lineitem` (`l_orderkey`) ON DELETE CASCADE,
  CONSTRAINT `ck` CHECK ((`o_totalprice` >= 0)) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci STATS_PERSISTENT=0
/*!50100 PARTITION BY RANGE (`o_orderkey`)
(PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */
;;
-- name: mysqldump lock
LOCK TABLES `orders` WRITE
;;
-- name: mysqldump disable
/*!40000 ALTER TABLE `orders` DISABLE KEYS */
;;
-- name: mysqldump insert
INSERT INTO `orders` (`o_orderkey`, `o_comment`) VALUES (1,'a\\b\'c\"d\n\r\0\Z'),(2,NULL),(-3,_binary 'x\0'),(4,0x4D),(5,'')
;;
-- name: mysqldump temp view
/*!50001 CREATE VIEW `v` AS SELECT 
 1 AS `a`,
 1 AS `b c`*/
;;
-- name: mysqldump view
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS select `t`.`a` AS `a`,(`t`.`b` + 1) AS `b c` from (`t` left join `u` on((`t`.`a` = `u`.`a`))) where ((`t`.`a` > 0) and (`t`.`b` is not null)) */
;;
-- name: mysqldump trigger
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `t` FOR EACH ROW BEGIN SET NEW.a = 1; END */
;;
-- name: mysqldump tail
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */
;;
-- name: mysqldump options
/*!40100 SET @@SQL_MODE='' */
;;
-- name: mysqldump consistent
START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */
;;
-- name: mysqldump isolation
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
;;
-- name: mysqldump logfile
SELECT LOGFILE_GROUP_NAME, FILE_NAME, TOTAL_EXTENTS, INITIAL_SIZE, ENGINE, EXTRA FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' AND FILE_NAME IS NOT NULL AND FILE_NAME LIKE '%.ibd' GROUP BY LOGFILE_GROUP_NAME, FILE_NAME, ENGINE, TOTAL_EXTENTS, INITIAL_SIZE ORDER BY LOGFILE_GROUP_NAME
;;
-- name: mysqldump statistics
SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$."number-of-buckets-specified"') FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = 'd' AND TABLE_NAME = 't'
;;
-- name: mysqldump sql_mode null
/*!50003 SET sql_mode              = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES' */
;;
-- name: mariadb-dump sandbox
/*M!999999\- enable the sandbox mode */ SELECT 1
;;
-- name: mariadb-dump select
SELECT /*!40001 SQL_NO_CACHE */ `a`, `b` FROM `t`
;;
-- name: WordPress
SELECT SQL_CALC_FOUND_ROWS  wp_posts.ID FROM wp_posts  WHERE 1=1  AND ((wp_posts.post_type = 'post' AND (wp_posts.post_status = 'publish' OR wp_posts.post_status = 'private')))  ORDER BY wp_posts.post_date DESC LIMIT 0, 10
;;
-- name: WordPress found
SELECT FOUND_ROWS()
;;
-- name: WordPress upsert
INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('a', 'b', 'yes') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`)
;;
-- name: queue
SELECT * FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
;;
-- name: TPC-C
SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock WHERE ol_w_id = 1 AND ol_o_id < 10 AND ol_o_id >= (10 - 20) AND s_w_id=1 AND s_i_id=ol_i_id AND s_quantity < 15
;;
-- name: TPC-H Q13
select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) from customer left outer join orders on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders (c_custkey, c_count) group by c_count order by custdist desc, c_count desc
;;
-- name: TPC-H Q15
with revenue (supplier_no, total_revenue) as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-01-01' + interval '3' month group by l_suppkey) select s_suppkey, total_revenue from supplier, revenue where s_suppkey = supplier_no and total_revenue = (select max(total_revenue) from revenue) order by s_suppkey
;;
-- name: TPC-H Q22
select cntrycode, count(*) as numcust from (select substring(c_phone from 1 for 2) as cntrycode, c_acctbal from customer where substring(c_phone from 1 for 2) in ('13', '31') and not exists (select * from orders where o_custkey = c_custkey)) as custsale group by cntrycode
