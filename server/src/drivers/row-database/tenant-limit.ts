/** Statements of all tenants at a time, while several tenants send some. */
const inFlightMax = 64;
const perTenantMin = 4;
/** How long a tenant counts after its last statement. */
const recentMs = 1_000;

interface Tenant {
  inFlight: number;
  usedAt: number;
  waiting: (() => void)[];
}

export interface TenantLimit {
  run<T>(tenant: string, work: () => Promise<T>): Promise<T>;
}

/**
 * Statements on shared connections are answered in order, so one tenant's many would delay the one of another. While several
 * tenants are active each has an equal part of the places; a tenant alone has no limit.
 */
export function createTenantLimit(now: () => number = () => performance.now()): TenantLimit {
  const tenants = new Map<string, Tenant>();
  let countedAt = now();

  /** Forgets tenants without recent statements. */
  function count(at: number): void {
    if (at - countedAt < recentMs) return;
    countedAt = at;
    for (const [id, { inFlight, usedAt }] of tenants)
      if (inFlight === 0 && at - usedAt >= recentMs) tenants.delete(id);
  }

  const placesOfEach = () =>
    tenants.size <= 1
      ? Number.POSITIVE_INFINITY
      : Math.max(perTenantMin, Math.floor(inFlightMax / tenants.size));

  function find(id: string, at: number): Tenant {
    const known = tenants.get(id);
    if (known) return known;
    const tenant = { inFlight: 0, usedAt: at, waiting: [] };
    tenants.set(id, tenant);
    return tenant;
  }

  return {
    async run(id, work) {
      const at = now();
      count(at);
      const tenant = find(id, at);
      tenant.usedAt = at;
      if (tenant.inFlight >= placesOfEach() || tenant.waiting.length > 0)
        await new Promise<void>((resolve) => tenant.waiting.push(resolve));
      else tenant.inFlight++;
      try {
        return await work();
      } finally {
        // The place is handed to the next in line, and more are opened when other tenants have left.
        tenant.inFlight--;
        while (tenant.waiting.length > 0 && tenant.inFlight < placesOfEach()) {
          tenant.inFlight++;
          tenant.waiting.shift()?.();
        }
      }
    },
  };
}
