import{n as e}from"./chunks/app-entry.js";await e(`trtgate golden
`,async()=>(await import(`./chunks/host-app-actions-golden-action.js`)).runGoldenAction());export{};