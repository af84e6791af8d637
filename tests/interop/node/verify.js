// One request a line, {"secret", "headers", "body"}: what the official library of Standard Webhooks says of it.
"use strict";

const readline = require("node:readline");
const { Webhook } = require("standardwebhooks");

readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const { secret, headers, body } = JSON.parse(line);
    try {
        new Webhook(secret).verify(body, headers);
        console.log("ok");
    } catch (error) {
        console.log(error.message);
    }
});
