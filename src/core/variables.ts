// Recognises environment variables with secrets by their names: programs that trtgate starts get them only where the config names them.

/** What the runner gives its actions, and the files by which a step sets what later steps see: no command has a use for them. */
const runners =
	/^(INPUT|STATE|ACTIONS)_|^GITHUB_(ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)$|^RUNNER_(?!(ARCH|DEBUG|ENVIRONMENT|NAME|OS|TEMP|TOOL_CACHE|TRACKING_ID|WORKSPACE)$)/i;

/** Withholds too much rather than too little: a command can name what it needs. TOKENIZERS_PARALLELISM is no token. */
const secrets =
	/TOKEN(?!IZ)|SECRET|KEY|PASSW|PASSPHRASE|CREDENTIAL|CREDS|COOKIE|WEBHOOK|_AUTH(_|$)|(^|_)(PAT|DSN)$|KUBECONFIG|CONNECTION_?STRING/i;

/** git refuses to start where one of its numbered settings lacks its name; ssh-agent's socket is how git reaches private remotes. */
const needed = /^(GIT_CONFIG_KEY_\d+|SSH_AUTH_SOCK)$/;

/** Not even a config may pass these on. */
export function isRunnerVariable(name: string): boolean {
	return runners.test(name);
}

export function isWithheld(name: string): boolean {
	return !needed.test(name) && (isRunnerVariable(name) || secrets.test(name));
}
