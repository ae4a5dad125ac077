const counted = ['GET', 'HEAD'];

/** Requests by method and status in the text that Prometheus reads; as light as counting can be. */
export function createRequestCounts({ name, help }: { name: string; help: string }) {
  const counts = new Map<string, Map<number, number>>();

  return {
    note(method: string, status: number): void {
      // A method is any word that a client sends.
      const key = counted.includes(method) ? method : 'other';
      let byStatus = counts.get(key);
      if (byStatus === undefined) {
        byStatus = new Map();
        counts.set(key, byStatus);
      }
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    },
    text(): string {
      const lines = [...counts].flatMap(([method, byStatus]) =>
        [...byStatus].map(([status, count]) => `${name}{method="${method}",status="${status}"} ${count}`),
      );
      return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, ...lines, ''].join('\n');
    },
  };
}
