/* test_sql.c: the lock of a row: insert, update, delete, a fence from the sequence. */
#include "tests/lockcore/player.h"

Test(sql, a_row_is_inserted_extended_and_deleted_by_its_owner)
{
    play_usual(
        "sql", 1,
        "0ms acquire   => send 0 insert v1 10000ms; wake 50ms\n"
        "1ms reply 0 7 => tell granted v1 validity 9897ms until 9898ms fence 7; wake 9898ms\n"
        "5s extend     => send 0 update v1 10000ms; wake 5050ms\n"
        "5001ms reply 0 ok => tell extended v1 validity 9897ms until 14898ms; wake 14898ms\n"
        "6s release    => send 0 delete v1; wake 6050ms\n"
        "6001ms reply 0 ok => tell released v1; wake never\n");
}

Test(sql, a_refused_insert_is_deleted_by_its_owner_and_tried_again)
{
    play_usual("sql", 1,
               "0ms acquire    => send 0 insert v1 10000ms; wake 50ms\n"
               "1ms reply 0 no => send 0 delete v1; wake 51ms\n"
               "2ms reply 0 no => wake 301ms\n");
}
