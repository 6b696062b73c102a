/* Wide tables can be scrolled with the keyboard, too: the theme puts each into a box when the page is shown.
 * SPDX-License-Identifier: Apache-2.0 */
"use strict";

function makeFocusable() {
    for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
        box.tabIndex = 0;
    }
}

new MutationObserver(makeFocusable).observe(document.querySelector("article"), {childList: true, subtree: true});
makeFocusable();
