import type { GovernedWorld } from '../support/governed.ts';
import { bearer, caller, done, newApp, type Person, tokenThrough } from '../support/people.ts';
import type { Random } from '../support/random.ts';
import { newRelease, siteOf } from '../support/sites.ts';
import type { Source } from './connector-principals.ts';
import type { DataApp, DataScope, Principal } from './grants-model.ts';

interface OpenedApp extends DataApp {
  slug: string;
  /** `/api/v1/tenants/<tenant>/apps/<app>` */
  base: string;
  owner: Person;
}

const actions = ['read', 'export', 'insert', 'update', 'delete'];

/** Published apps that use a table of a connector for their visitors, with random data scopes. */
export class DataApps {
  private scopeCount = 0;

  private constructor(
    private readonly world: GovernedWorld,
    private readonly random: Random,
    private readonly source: Source,
    private readonly apps: readonly OpenedApp[],
  ) {}

  static async open(
    world: GovernedWorld,
    random: Random,
    { source, owners }: { source: Source; owners: readonly Person[] },
  ): Promise<DataApps> {
    const apps: OpenedApp[] = [];
    for (const [at, owner] of owners.entries()) {
      const { tenant } = world;
      const app = await newApp(tenant, { owner }, { deploy_method: 'static' });
      const site = { ...siteOf(tenant, app), owner };
      await newRelease(site, { 'index.html': '<h1>Things</h1>' }, { on_finalize: 'deploy' });
      const { slug, base } = app;
      const name = `app ${at + 1}`;
      apps.push({ name, slug, base, owner, ownerId: owner.id, requested: [], approved: [] });
    }
    const opened = new DataApps(world, random, source, apps);
    for (const app of apps) await opened.approve(app, opened.scopes());
    return opened;
  }

  /** Each of the people, as a visitor of each app. */
  async visitors(people: readonly Principal[]): Promise<Principal[]> {
    const { server, tenant } = this.world;
    const visits = this.apps.flatMap((app) => people.map((person) => ({ app, person })));
    return Promise.all(
      visits.map(async ({ app, person }): Promise<Principal> => {
        const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
        return {
          ...person,
          name: `${person.name} in ${app.name}`,
          through: app,
          call: caller(server, bearer({ token }), this.source.path),
          // Attributes of the person change.
          get region() {
            return person.region;
          },
        };
      }),
    );
  }

  async change(): Promise<string> {
    const { random } = this;
    const app = random.pick(this.apps);
    const isApproved = random.chance(0.7);
    if (isApproved) await this.approve(app, this.scopes());
    if (!isApproved || random.chance(0.5)) {
      const kept = app.approved.filter(() => random.chance(0.6));
      await this.request(app, [...kept, ...this.scopes()]);
    }
    const text = ({ text }: DataScope) => text;
    return `${app.name} requests ${app.requested.map(text)}; approved are ${app.approved.map(text)}`;
  }

  private scopes(): DataScope[] {
    const { random, source } = this;
    const [schema = ''] = source.table.split('/');
    const scope = (action: string, place: string, coversTable: boolean): DataScope => ({
      text: `${place}:${action}`,
      action,
      coversTable,
    });
    const covering = [source.table, `${schema}/*`, '*'].map((end) => `${source.connector}/${end}`);
    const other = [`${schema}/others`, 'elsewhere/*'].map((end) => `${source.connector}/${end}`);
    const found = actions.flatMap((action) =>
      random.chance(0.65)
        ? [scope(action, random.pick(covering), true)]
        : [scope(action, random.pick([...other, `${source.connector}2/*`]), false)],
    );
    return random.chance(0.1) ? found.filter(({ coversTable }) => !coversTable) : found;
  }

  private async request(app: OpenedApp, scopes: readonly DataScope[]): Promise<void> {
    app.requested = [...new Map(scopes.map((scope) => [scope.text, scope])).values()];
    const data_scopes = app.requested.map(({ text }) => text);
    await done(app.owner.call('PATCH', app.base, { data_scopes }));
  }

  /** By the review of a publication. */
  private async approve(app: OpenedApp, scopes: readonly DataScope[]): Promise<void> {
    // A review is for scopes that are new.
    const text = `${this.source.connector}/new${++this.scopeCount}/*:read`;
    await this.request(app, [...scopes, { text, action: 'read', coversTable: false }]);
    const request = await done(
      app.owner.call('POST', `${app.base}/publication-requests`, { visibility: 'public' }),
    );
    const { admin, base } = this.world.tenant;
    await done(admin.call('POST', `${base}/publication-requests/${request.id}/approve`));
    app.approved = app.requested;
  }
}
