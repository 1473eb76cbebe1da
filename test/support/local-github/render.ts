// The shapes in which GitHub shows people, repositories and times.
import { nodeIdOf, type World } from "./world.ts";

export type Json = Record<string, unknown>;

/** GitHub's times have whole seconds. */
export function formatTime(ms: number): string {
	return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function numberOf(text: string): number {
	let sum = 7;
	for (const letter of text) sum = (sum * 31 + letter.charCodeAt(0)) % 1_000_003;
	return sum;
}

export function renderUser(world: World, login: string): Json {
	const url = `${world.url}/users/${encodeURIComponent(login)}`;
	const lists = ["followers", "organizations", "repos", "subscriptions", "received_events"];
	return {
		login,
		id: numberOf(login),
		node_id: nodeIdOf("U", numberOf(login)),
		avatar_url: `${world.url}/avatars/${numberOf(login)}`,
		gravatar_id: "",
		url,
		html_url: `https://github.com/${login}`,
		...Object.fromEntries(lists.map((name) => [`${name}_url`, `${url}/${name}`])),
		following_url: `${url}/following{/other_user}`,
		gists_url: `${url}/gists{/gist_id}`,
		starred_url: `${url}/starred{/owner}{/repo}`,
		events_url: `${url}/events{/privacy}`,
		type: login.endsWith("[bot]") ? "Bot" : "User",
		site_admin: false,
	};
}

export function repositoryUrl(world: World): string {
	return `${world.url}/repos/${world.repository}`;
}

export function pageUrl(world: World, below = ""): string {
	return `https://github.com/${world.repository}${below}`;
}

const listUrls = [
	...[
		"archive",
		"assignees",
		"blobs",
		"branches",
		"collaborators",
		"comments",
		"commits",
		"compare",
		"contents",
		"contributors",
		"deployments",
	],
	...[
		"downloads",
		"events",
		"forks",
		"git_commits",
		"git_refs",
		"git_tags",
		"hooks",
		"issue_comment",
		"issue_events",
		"issues",
		"keys",
		"labels",
	],
	...[
		"languages",
		"merges",
		"milestones",
		"notifications",
		"pulls",
		"releases",
		"stargazers",
		"statuses",
		"subscribers",
		"subscription",
		"tags",
	],
	...["teams", "trees"],
];

/** A repository of any owner; the same shape serves where less would do. */
export function renderRepository(world: World, fullName: string): Json {
	const [owner = "", name = ""] = fullName.split("/");
	const url = `${world.url}/repos/${fullName}`;
	const page = `https://github.com/${fullName}`;
	const yes = [
		"has_issues",
		"has_projects",
		"has_downloads",
		"has_wiki",
		"allow_rebase_merge",
		"allow_squash_merge",
		"allow_merge_commit",
		"allow_forking",
	];
	const no = [
		"archived",
		"disabled",
		"has_pages",
		"has_discussions",
		"is_template",
		"allow_auto_merge",
		"delete_branch_on_merge",
	];
	return {
		id: numberOf(fullName),
		node_id: nodeIdOf("R", numberOf(fullName)),
		name,
		full_name: fullName,
		owner: renderUser(world, owner),
		private: true,
		visibility: "private",
		html_url: page,
		description: null,
		fork: fullName !== world.repository,
		url,
		...Object.fromEntries(listUrls.map((list) => [`${list}_url`, `${url}/${list}`])),
		git_url: `git://github.com/${fullName}.git`,
		ssh_url: `git@github.com:${fullName}.git`,
		clone_url: `${page}.git`,
		svn_url: page,
		mirror_url: null,
		homepage: null,
		language: null,
		license: null,
		topics: [],
		...Object.fromEntries(yes.map((flag) => [flag, true])),
		...Object.fromEntries(no.map((flag) => [flag, false])),
		...{
			forks: 0,
			forks_count: 0,
			stargazers_count: 0,
			watchers: 0,
			watchers_count: 0,
			size: 1,
			open_issues: 0,
			open_issues_count: 0,
		},
		...{ network_count: 0, subscribers_count: 0, web_commit_signoff_required: false },
		default_branch: world.state.defaultBranch,
		...{
			pushed_at: "2026-01-01T00:00:00Z",
			created_at: "2026-01-01T00:00:00Z",
			updated_at: "2026-01-01T00:00:00Z",
		},
	};
}

/** The app behind GITHUB_TOKEN. */
export function renderApp(world: World): Json {
	return {
		id: 15368,
		slug: "github-actions",
		node_id: "MDM6QXBwMTUzNjg=",
		client_id: "Iv1.05c79e9ad1f6bdfa",
		owner: renderUser(world, "github"),
		name: "GitHub Actions",
		description: "Automate your workflow from idea to production",
		external_url: "https://help.github.com/en/actions",
		html_url: "https://github.com/apps/github-actions",
		created_at: "2018-07-30T09:30:17Z",
		updated_at: "2019-12-10T19:04:12Z",
		permissions: {
			actions: "write",
			checks: "write",
			contents: "write",
			issues: "write",
			metadata: "read",
			statuses: "write",
		},
		events: [],
	};
}

export function pick(value: Json, names: readonly string[]): Json {
	return Object.fromEntries(
		names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
	);
}
