-- The `filter` variant: a range of rows by primary key of which a condition on another column, `filter`, which holds the
-- same number as the key, passes exactly one. What a row costs that is read and thrown away.

sysbench.cmdline.options = {
   table_size = {"Number of rows", 1000000},
   range_size = {"Rows of each range", 10000}
}

local columns = "(id INTEGER NOT NULL PRIMARY KEY, filter INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, " ..
   "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL)"
local digits = "###########-###########-###########-###########-###########"

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE sbfilter " .. columns)
   con:bulk_insert_init("INSERT INTO sbfilter (id, filter, k, c, pad) VALUES")
   for i = 1, sysbench.opt.table_size do
      con:bulk_insert_next(string.format("(%d, %d, %d, '%s', '%s')", i, i,
         sysbench.rand.uniform(1, sysbench.opt.table_size), sysbench.rand.string(digits), sysbench.rand.string(digits)))
   end
   con:bulk_insert_done()
end

function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS sbfilter")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   stmt = con:prepare("SELECT id FROM sbfilter WHERE id BETWEEN ? AND ? AND filter = ?")
   from = stmt:bind_create(sysbench.sql.type.INT)
   to = stmt:bind_create(sysbench.sql.type.INT)
   one = stmt:bind_create(sysbench.sql.type.INT)
   stmt:bind_param(from, to, one)
end

function event()
   local range = math.min(sysbench.opt.range_size, sysbench.opt.table_size)
   local first = sysbench.rand.uniform(1, sysbench.opt.table_size - range + 1)
   from:set(first)
   to:set(first + range - 1)
   one:set(first + sysbench.rand.uniform(0, range - 1))
   stmt:execute()
end

function thread_done()
   stmt:close()
   con:disconnect()
end
