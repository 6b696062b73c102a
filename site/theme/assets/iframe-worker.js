/* The search of a site that is opened as files: browsers start no worker from a file, so that a hidden frame runs it.
 * SPDX-License-Identifier: Apache-2.0 */
"use strict";

if (location.protocol === "file:") {
    /** As much of a Worker as the theme's search uses. The theme's worker finds its own path in the frame's script. */
    window.IFrameWorker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            frame.title = "search";
            document.body.append(frame);
            const inside = frame.contentWindow;
            const load = (source) => new Promise((resolve, reject) => {
                const script = inside.document.createElement("script");
                script.src = source;
                script.onload = resolve;
                script.onerror = () => reject(new Error(`cannot load ${source}`));
                inside.document.body.append(script);
            });
            inside.importScripts = (...urls) => urls.reduce((done, each) => done.then(() => load(each)), Promise.resolve());
            inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
            this.inside = inside;
            this.loaded = load(url);
        }

        postMessage(data) {
            this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})));
        }
    };
    window.Worker = window.IFrameWorker;
}
