/* version.h: the one place where picklock's version stands, and the day it was made. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PICKLOCK_VERSION "0.1.0"
#define PICKLOCK_DATE    "2026-11-22"

#endif
