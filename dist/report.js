import{n as e}from"./chunks/app-entry.js";await e(`trtgate report
`,async()=>(await import(`./chunks/host-app-actions-report-action.js`)).runReportAction());export{};