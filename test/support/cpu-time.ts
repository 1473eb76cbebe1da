// Time that this thread has computed: what a loaded machine makes a test wait is no part of it.

export function cpuMs(): number {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1000;
}
