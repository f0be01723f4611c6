/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* page_ask.js - what the live page asks the server; the frozen page has nothing to ask */
const Ask = (function () {
    "use strict";
    return {actionsOf: () => [], isLive: () => false};
}());
