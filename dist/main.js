process.stdout.write(`trtgate
`);const{runAction:e}=await import(`./action.js`);process.exitCode=await e();export{};