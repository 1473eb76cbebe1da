// Door of the action's post step: mends what a cancelled or killed run left behind.
import { cleanUp } from "./app/clean-up.ts";

await cleanUp();
// A service that no longer answers must not hold the job.
setTimeout(() => process.exit(), 1000).unref();
