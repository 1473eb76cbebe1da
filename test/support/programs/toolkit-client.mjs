// The toolkit's own clients, one step after the other: argv[2] is a JSON list of steps, the last line of stdout their results.
import { getOctokit } from "@actions/github";

const steps = JSON.parse(process.argv[2]);
const octokit = getOctokit(process.env.GITHUB_TOKEN ?? "none");
const lazy = {
	artifact: async () => new (await import("@actions/artifact")).DefaultArtifactClient(),
	cache: () => import("@actions/cache"),
};

const kinds = {
	rest: ({ route, parameters }) =>
		octokit.request(route, parameters).then(({ status, data, headers }) => ({ status, data, headers })),
	paginate: ({ route, parameters }) => octokit.paginate(route, parameters),
	graphql: ({ query, variables }) => octokit.graphql(query, variables),
	artifact: async ({ method, args }) => (await lazy.artifact())[method](...args),
	cache: async ({ method, args }) => (await lazy.cache())[method](...args),
};

const results = [];
for (const step of steps) {
	try {
		results.push({ value: (await kinds[step.kind](step)) ?? null });
	} catch (error) {
		const { name, message, status } = error;
		results.push({
			error: { name, message, status, headers: error.response?.headers, data: error.response?.data },
		});
	}
}
process.stdout.write(`\n${JSON.stringify(results)}\n`);
