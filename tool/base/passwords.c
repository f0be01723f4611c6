/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* passwords.c - passwords of addresses; see passwords.h */
#include "tool/base/passwords.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { STARS = 3 };

/* Replaces the bytes from @from to @to by at most as many stars. */
static void overwrite(char *from, char *to)
{
    const size_t bytes = (size_t)(to - from);
    const size_t stars = bytes < STARS ? bytes : STARS;
    const size_t left = strlen(to);

    memset(from, '*', stars);
    memmove(from + stars, to, left);
    memset(from + stars + left, '\0', bytes - stars + 1); /* nor behind the end */
}

/* What follows "scheme://" at the start of @word; NULL: it is no address. */
static char *behind_scheme(char *word)
{
    char *at = word;

    while (isalnum((unsigned char)*at) != 0 ||
           (at != word && *at != '\0' && strchr("+-.", *at) != NULL)) {
        at++;
    }
    return at != word && strncmp(at, "://", 3) == 0 ? at + 3 : NULL;
}

/* Whether @word is the address of a database, whose last '@' ends name and password:
 * none follows it. */
static bool is_store(const char *word)
{
    return strncasecmp(word, "clickhouse", strlen("clickhouse")) == 0;
}

/* Whether the place up to @end ("db:8123") has a port or none. Otherwise what follows
 * its colon is a password that goes on with '/', '?' or '#'. */
static bool has_port(const char *place, const char *end)
{
    const char *colon = memchr(place, ':', (size_t)(end - place));

    return *place == '[' || colon == NULL ||
           strspn(colon + 1, "0123456789") == (size_t)(end - colon - 1);
}

/* The '@' that ends the name and the password of @place; NULL: there are none. */
static char *end_of_user(char *place, bool takes_last)
{
    char *end = place + strcspn(place, "/?#");

    if (!takes_last &&
        (memchr(place, '@', (size_t)(end - place)) != NULL || has_port(place, end))) {
        return memrchr(place, '@', (size_t)(end - place));
    }
    return strrchr(place, '@');
}

/* What follows the colon between @from and @to, also one that is escaped; or NULL. */
static char *behind_colon(char *from, const char *to)
{
    for (char *at = from; at < to; at++) {
        if (*at == ':') {
            return at + 1;
        }
        if (strncasecmp(at, "%3a", 3) == 0) {
            return at + 3;
        }
    }
    return NULL;
}

/* Overwrites the values of "password=" and the like in the query of an address. */
static void hide_in_query(char *place)
{
    static const char *const keys[] = {"password=", "passwd=", "pwd="};
    char *query = strchr(place, '?');

    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && query != NULL; i++) {
        for (char *at = query; (at = strcasestr(at, keys[i])) != NULL;) {
            at += strlen(keys[i]);
            overwrite(at, at + strcspn(at, "&#"));
        }
    }
}

static void hide(char *word)
{
    char *place = behind_scheme(word);
    char *end;
    char *password;

    if (place == NULL) {
        return;
    }
    hide_in_query(place);
    end = end_of_user(place, is_store(word));
    password = end != NULL ? behind_colon(place, end) : NULL;
    if (password != NULL && password <= end) {
        overwrite(password, end);
    }
}

void cpti_passwords_hide(char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *word = words[i] + strspn(words[i], "-");
        char *equals = word > words[i] + 1 ? strchr(word, '=') : NULL;

        if (equals != NULL) {
            hide(equals + 1);
        } else if (word == words[i] + 1 && word[0] != '\0') {
            hide(word + 1); /* -oADDRESS */
        }
        hide(word); /* also what is no option */
    }
}

void cpti_password_hide_in(char *text, const char *password)
{
    static const char scheme[] = "Basic ";
    const size_t bytes = password != NULL ? strlen(password) : 0;

    for (char *at = text; bytes != 0 && (at = strstr(at, password)) != NULL;) {
        overwrite(at, at + bytes);
        at += bytes < STARS ? bytes : STARS;
    }
    for (char *at = text; (at = strcasestr(at, scheme)) != NULL;) {
        at += strlen(scheme);
        overwrite(at, at + strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                      "uvwxyz0123456789+/="));
    }
}
