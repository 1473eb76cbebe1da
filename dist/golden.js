process.stdout.write(`trtgate golden
`);const{runGoldenAction:e}=await import(`./golden-action.js`),t=await e();process.stdout.write(``,()=>process.exit(t));export{};