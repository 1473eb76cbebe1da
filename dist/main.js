process.stdout.write(`trtgate
`);const{runAction:e}=await import(`./gate-action.js`),t=await e();process.stdout.write(``,()=>process.exit(t));export{};