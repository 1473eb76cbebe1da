// Recognises environment variables with secrets by their names.

/** Given to actions by the runner, or naming files that set what later steps see. */
const runners =
	/^(INPUT|STATE|ACTIONS)_|^GITHUB_(ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)$|^RUNNER_(?!(ARCH|DEBUG|ENVIRONMENT|NAME|OS|TEMP|TOOL_CACHE|TRACKING_ID|WORKSPACE)$)/i;

/** Withholds too much rather than too little: a command can name what it needs. */
const secrets =
	/TOKEN(?!IZ)|SECRET|KEY|PASSW|PASSPHRASE|CREDENTIAL|CREDS|COOKIE|WEBHOOK|_AUTH(_|$)|(^|_)(PAT|DSN)$|KUBECONFIG|CONNECTION_?STRING/i;

/** git needs all of its numbered settings, and ssh-agent's socket for private remotes. */
const needed = /^(GIT_CONFIG_KEY_\d+|SSH_AUTH_SOCK)$/;

export function isRunnerVariable(name: string): boolean {
	return runners.test(name);
}

export function isWithheld(name: string): boolean {
	return !needed.test(name) && (isRunnerVariable(name) || secrets.test(name));
}
