#!/usr/bin/env node
import{t as e}from"./chunks/app-entry.js";await e(async()=>(await import(`./chunks/app-cli-entry.js`)).runCli(process.argv.slice(2)));export{};