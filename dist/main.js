import{n as e}from"./chunks/app-entry.js";await e(`trtgate
`,async()=>(await import(`./chunks/host-app-actions-gate-action.js`)).runAction());export{};