process.stdout.write(`trtgate report
`);const{runReportAction:e}=await import(`./report-action.js`),t=await e();process.stdout.write(``,()=>process.exit(t));export{};