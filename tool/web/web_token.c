/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_token.c - the secret in the address; see web_token.h */
#include "tool/web/web_token.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/output.h"
#include "cpt/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file at a place is. */
enum found {
    IS_TAKEN,    /* it had a token */
    IS_ABSENT,   /* there is none */
    IS_UNUSABLE, /* it belongs to others, or nothing can be written: look elsewhere */
    IS_REFUSED,  /* with the error printed */
};

/* --- Its file --- */

/* Whether @text, which ends with a newline, is a token. */
static bool is_token(const char *text, size_t bytes)
{
    return bytes == CPTI_WEB_TOKEN_BYTES + 1 && text[CPTI_WEB_TOKEN_BYTES] == '\n' &&
           strspn(text, "0123456789abcdef") == CPTI_WEB_TOKEN_BYTES;
}

/* Reads the open @file. */
static enum found read_file(struct cpti_web_token *token, int file)
{
    char text[CPTI_WEB_TOKEN_BYTES + 3];
    struct stat about;
    ssize_t bytes;

    /* what another user has put there, he knows */
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_uid != geteuid()) {
        return IS_UNUSABLE;
    }
    if ((about.st_mode & 077) != 0) {
        (void)cpti_failed_at((struct cpti_at){.file = cpti_quoted(token->path)},
                             "others can read the token" CPTI_HINT
                             "remove the file, and "
                             "'cpt web' makes a new one");
        return IS_REFUSED;
    }
    bytes = pread(file, text, sizeof text - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (bytes < 0 || !is_token(text, (size_t)bytes)) {
        (void)cpti_failed_at((struct cpti_at){.file = cpti_quoted(token->path)},
                             "has no token" CPTI_HINT
                             "remove the file, and 'cpt web' makes a "
                             "new one");
        return IS_REFUSED;
    }
    memcpy(token->text, text, CPTI_WEB_TOKEN_BYTES);
    token->text[CPTI_WEB_TOKEN_BYTES] = '\0';
    return IS_TAKEN;
}

static enum found look(struct cpti_web_token *token)
{
    const int file = open(token->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum found found;

    if (file < 0) {
        return errno == ENOENT ? IS_ABSENT : IS_UNUSABLE;
    }
    found = read_file(token, file);
    (void)close(file);
    return found;
}

/* Writes @text to the new file @path, which only its owner can read. */
static bool write_private(char *path, const char *text)
{
    const int file = mkstemp(path); /* 0600 */
    struct stat about;
    bool is_written;

    if (file < 0) {
        return false;
    }
    is_written = fstat(file, &about) == 0 && (about.st_mode & 077) == 0 &&
                 write(file, text, strlen(text)) == (ssize_t)strlen(text);
    is_written = close(file) == 0 && is_written;
    if (!is_written) {
        (void)unlink(path);
    }
    return is_written;
}

/* Keeps @text at the token's path, unless another 'cpt web' has just kept its own,
 * which is then taken. */
static enum found keep(struct cpti_web_token *token, const char *text)
{
    char path[PATH_MAX + sizeof ".XXXXXX"];
    char line[CPTI_WEB_TOKEN_BYTES + 2];
    int error = 0;

    (void)snprintf(path, sizeof path, "%s.XXXXXX", token->path);
    (void)snprintf(line, sizeof line, "%s\n", text);
    if (!write_private(path, line)) {
        return IS_UNUSABLE;
    }
    error = link(path, token->path) != 0 ? errno : 0;
    (void)unlink(path);
    if (error != 0 && error != EEXIST) {
        return IS_UNUSABLE;
    }
    return look(token);
}

/* --- Its places --- */

/* Sets the path to a hidden file beside @operand, or in it if it is a folder; so
 * folders of logs do not take it for one. */
static bool place_beside(struct cpti_web_token *token, const char *operand)
{
    static const char name[] = ".cpt-web-token";
    const char *slash = strrchr(operand, '/');
    struct stat about;
    int bytes = slash != NULL ? (int)(slash - operand) + 1 : 0;
    const char *between = "";

    if (cpti_is_store(operand) || stat(operand, &about) != 0) {
        return false;
    }
    if (S_ISDIR(about.st_mode)) {
        bytes = (int)strlen(operand);
        between = "/";
    }
    return snprintf(token->path, sizeof token->path, "%.*s%s%s", bytes, operand,
                    between, name) < (int)sizeof token->path;
}

/* Makes the folders on the way to @path. What cannot be made is found later. */
static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

static bool place_in_state(struct cpti_web_token *token)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int bytes;

    if (state != NULL && state[0] == '/') {
        bytes = snprintf(token->path, sizeof token->path, "%s/cpt/web-token", state);
    } else if (home != NULL && home[0] == '/') {
        bytes = snprintf(token->path, sizeof token->path,
                         "%s/.local/state/cpt/web-token", home);
    } else {
        return false;
    }
    if (bytes >= (int)sizeof token->path) {
        return false;
    }
    make_folders(token->path);
    return true;
}

static enum found take_at(struct cpti_web_token *token, const char *fresh)
{
    const enum found found = look(token);

    return found == IS_ABSENT ? keep(token, fresh) : found;
}

/* Makes a token that is not kept. */
static bool make(char text[CPTI_WEB_TOKEN_BYTES + 1])
{
    unsigned char bytes[CPTI_WEB_TOKEN_BYTES / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    text[cpti_text_hex(text, bytes, sizeof bytes).bytes] = '\0';
    return true;
}

int cpti_web_token_take(struct cpti_web_token *token, const char *operand)
{
    char fresh[CPTI_WEB_TOKEN_BYTES + 1];
    enum found found = IS_UNUSABLE;

    *token = (struct cpti_web_token){0};
    if (!make(fresh)) {
        return cpti_failed("no random numbers for a token: %s", strerror(errno));
    }
    if (place_beside(token, operand)) {
        found = take_at(token, fresh);
    }
    if (found == IS_UNUSABLE && place_in_state(token)) {
        found = take_at(token, fresh);
    }
    if (found == IS_REFUSED) {
        return CPTI_EXIT_FAILED;
    }
    if (found != IS_TAKEN) {
        memcpy(token->text, fresh, sizeof fresh);
        token->path[0] = '\0';
    }
    return CPTI_EXIT_DONE;
}

/* --- Requests --- */

/* Compares without telling by its time how much of @shown is right. */
static bool is_same(const struct cpti_web_token *token, struct cpt_bytes shown)
{
    unsigned difference = 0;

    if (shown.bytes != CPTI_WEB_TOKEN_BYTES) {
        return false;
    }
    for (size_t i = 0; i < CPTI_WEB_TOKEN_BYTES; i++) {
        difference |= (unsigned)(unsigned char)(token->text[i] ^ shown.data[i]);
    }
    return difference == 0;
}

/* The last token of @query, which has no escapes. */
static struct cpt_bytes in_query(struct cpt_bytes query)
{
    static const char name[] = "token=";
    struct cpt_bytes found = {"", 0};

    while (query.bytes != 0) {
        const char *end = memchr(query.data, '&', query.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - query.data) : query.bytes;

        if (bytes > strlen(name) && memcmp(query.data, name, strlen(name)) == 0) {
            found.data = query.data + strlen(name);
            found.bytes = bytes - strlen(name);
        }
        query.data += bytes + (end != NULL);
        query.bytes -= bytes + (end != NULL);
    }
    return found;
}

/* What follows "Bearer " in @header. */
static struct cpt_bytes in_header(struct cpt_bytes header)
{
    static const char scheme[] = "Bearer ";
    size_t at = strlen(scheme);

    if (header.bytes < at || strncasecmp(header.data, scheme, at) != 0) {
        return (struct cpt_bytes){"", 0};
    }
    while (at < header.bytes && header.data[at] == ' ') {
        at++;
    }
    return (struct cpt_bytes){header.data + at, header.bytes - at};
}

bool cpti_web_token_is_shown(const struct cpti_web_token *token, struct cpt_bytes query,
                             struct cpt_bytes authorization)
{
    const bool is_in_query = is_same(token, in_query(query));

    return is_same(token, in_header(authorization)) || is_in_query;
}
