/*
 * libcurl.h: the HTTP library, loaded when it is first needed: no run of another kind pays for it,
 * and picklock runs where it is not installed.
 *
 *     const struct libcurl *curl = libcurl();     NULL: it is not there
 *     curl->curl_easy_init();
 *
 * Only connect.c and whoever measures it include this: it needs curl/curl.h.
 */
#ifndef SERVERS_ETCD_REAL_LIBCURL_H
#define SERVERS_ETCD_REAL_LIBCURL_H

#include "servers/loaded.h"

#define CURL_DISABLE_TYPECHECK /* its macros would not let a function be called by a pointer */
#include <curl/curl.h>

#define LIBCURL_MAP(X)                                                                             \
    X(curl_global_init)                                                                            \
    X(curl_easy_init)                                                                              \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_cleanup)                                                                           \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)                                                                         \
    X(curl_multi_init)                                                                             \
    X(curl_multi_setopt)                                                                           \
    X(curl_multi_add_handle)                                                                       \
    X(curl_multi_remove_handle)                                                                    \
    X(curl_multi_socket_action)                                                                    \
    X(curl_multi_info_read)                                                                        \
    X(curl_multi_cleanup)

struct libcurl {
    LIBCURL_MAP(LOADED_MEMBER)
};

const struct libcurl *libcurl(void);

#endif
