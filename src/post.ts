// Door of the action's post step: mends what a cancelled or killed run left behind.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
if (!refusesNode()) {
	const { cleanUp } = await import("./app/actions/clean-up.ts");
	await cleanUp();
	// A request that we gave up on would hold the process as long as its server pleases.
	process.stdout.write("", () => process.exit(0));
}
