/* connection.c: what connections of several kinds do alike. */
#include "lockcore/drivers/connection.h"

#include <sys/socket.h>

enum connection_progress connection_socket_progress(int fd)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    int code = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return code == 0 && error == 0 ? CONNECTION_UP : CONNECTION_BROKEN;
}
