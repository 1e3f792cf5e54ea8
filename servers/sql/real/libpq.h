/*
 * libpq.h: PostgreSQL's client library, loaded when it is first needed: no run of another kind
 * pays for it (it brings twenty libraries with it), and picklock runs where it is not installed.
 *
 *     const struct libpq *pq = libpq();     NULL: it is not there
 *     pq->PQfinish(connection);
 *
 * Only connect.c and whoever measures it include this: it needs libpq-fe.h.
 */
#ifndef SERVERS_SQL_REAL_LIBPQ_H
#define SERVERS_SQL_REAL_LIBPQ_H

#include "servers/loaded.h"

#include <libpq-fe.h>

#define LIBPQ_MAP(X)                                                                               \
    X(PQconnectStartParams)                                                                        \
    X(PQconnectPoll)                                                                               \
    X(PQsocket)                                                                                    \
    X(PQfinish)                                                                                    \
    X(PQsetnonblocking)                                                                            \
    X(PQenterPipelineMode)                                                                         \
    X(PQsendPrepare)                                                                               \
    X(PQsendQueryPrepared)                                                                         \
    X(PQsendQueryParams)                                                                           \
    X(PQsetNoticeProcessor)                                                                        \
    X(PQpipelineSync)                                                                              \
    X(PQflush)                                                                                     \
    X(PQconsumeInput)                                                                              \
    X(PQisBusy)                                                                                    \
    X(PQgetResult)                                                                                 \
    X(PQresultStatus)                                                                              \
    X(PQntuples)                                                                                   \
    X(PQgetvalue)                                                                                  \
    X(PQclear)

struct libpq {
    LIBPQ_MAP(LOADED_MEMBER)
};

const struct libpq *libpq(void);

#endif
