/** The build without Redis, which octokit's plugins use; it ships no types of its own. */
declare module "bottleneck/light.js" {
	export { default } from "bottleneck";
}
