import type { GovernedWorld } from '../support/governed.ts';
import { done } from '../support/people.ts';
import type { Random } from '../support/random.ts';
import {
  type Column,
  filters,
  type Grant,
  type Group,
  type ModelState,
  maskKinds,
  type Policy,
  type Principal,
  regions,
} from './grants-model.ts';

const rowActions = ['read', 'export', 'insert', 'update', 'delete'];

const changeKinds = [
  ...(['grant', 'grant', 'revoke', 'policy', 'policy', 'switch'] as const),
  ...(['enforce', 'attribute', 'group', 'scopes', 'scopes'] as const),
];

interface HistoryOf {
  connectorId: string;
  principals: readonly Principal[];
  /** Gives an app other data scopes. */
  changeScopes(): Promise<string>;
}

/** Changes access in the product and in the model. */
export class AccessHistory {
  changes = 0;
  /** Grants and policies that stay. */
  private readonly fixed = new Set<Grant | Policy>();
  private readonly presets = new Map<string, Promise<string>>();

  constructor(
    private readonly world: GovernedWorld,
    private readonly random: Random,
    private readonly state: ModelState,
    private readonly of: HistoryOf,
  ) {}

  async change(count: number): Promise<string[]> {
    const said: string[] = [];
    for (let at = 0; at < count; at++) {
      said.push(await this.one());
      this.changes++;
    }
    return said;
  }

  /** Two grants of different masks for one reader, one grant for each other principal, and everything for the auditor. */
  async begin(): Promise<string[]> {
    const { principals } = this.of;
    const [ada] = principals;
    for (const [masks, text] of [
      [{ email: 'redact' }, ''],
      [{ email: 'email' }, 'region=eq.eu'],
    ] as const) {
      const filter = filters.find((each) => each.text === text)!;
      const policy = await this.policy({ filter, masks });
      this.fixed.add(policy).add(await this.grant(ada!, ['read', 'export'], [policy]));
    }
    for (const who of principals.slice(1, -1))
      if (who.name === 'auditor') await this.grant(who, ['read', 'export'], []);
      else if (who.name !== 'admin') await this.newGrant(who);
    for (const group of this.state.groups) await this.newGrant(group);
    return ['first grants'];
  }

  private async one(): Promise<string> {
    const { random, state } = this;
    const { principals } = this.of;
    const changeable = principals.filter(({ name }) => name !== 'auditor');
    const people = changeable.filter(({ kind }) => kind === 'user');
    switch (random.pick(changeKinds)) {
      case 'grant': {
        const holder = random.pick<Principal | Group>([...changeable, ...state.groups]);
        const held = state.grants.filter(({ holder: { id } }) => id === holder.id);
        if (held.length >= 4) return this.revoke(held.at(-1)!);
        await this.newGrant(holder);
        return `a grant for ${holder.name}`;
      }
      case 'revoke': {
        const revocable = state.grants.filter(
          (grant) => grant.holder.name !== 'auditor' && !this.fixed.has(grant),
        );
        return revocable.length > 0 ? this.revoke(random.pick(revocable)) : 'nothing';
      }
      case 'policy': {
        const policy = random.pick(this.changeablePolicies().filter(({ enforced }) => !enforced));
        Object.assign(policy, this.newPolicy());
        await this.ofTenant('PATCH', `access-policies/${policy.id}`, policyFields(policy));
        return `the policy ${policy.id} says something else`;
      }
      case 'switch': {
        const policy = random.pick(this.changeablePolicies());
        policy.enabled = !policy.enabled;
        await this.ofTenant('PATCH', `access-policies/${policy.id}`, { enabled: policy.enabled });
        return `the policy ${policy.id} is ${policy.enabled ? 'on' : 'off'}`;
      }
      case 'enforce': {
        if (random.chance(0.7) || state.policies.some(({ enforced }) => enforced)) {
          await this.endEnforced();
          return 'nothing is enforced';
        }
        await this.policy({ ...this.newPolicy(), enforced: true });
        return 'a policy is enforced';
      }
      case 'attribute': {
        const who = random.pick(people);
        who.region = random.pick([...regions, null]);
        await this.ofTenant('PATCH', `members/${who.id}`, { attributes: { region: who.region ?? '' } });
        return `${who.name} is in ${who.region}`;
      }
      case 'group': {
        const [group, who] = [random.pick(state.groups), random.pick(people)];
        const members = `groups/${group.id}/members`;
        if (group.members.delete(who.id)) await this.ofTenant('DELETE', `${members}/${who.id}`);
        else {
          group.members.add(who.id);
          await this.ofTenant('POST', members, { user_id: who.id });
        }
        return `${who.name} ${group.members.has(who.id) ? 'joins' : 'leaves'} ${group.name}`;
      }
      case 'scopes':
        return this.of.changeScopes();
    }
  }

  private changeablePolicies(): Policy[] {
    return this.state.policies.filter((policy) => !this.fixed.has(policy));
  }

  async endEnforced(): Promise<void> {
    for (const policy of this.state.policies.filter(({ enforced }) => enforced)) {
      policy.enforced = false;
      await this.ofTenant('PATCH', `access-policies/${policy.id}`, { enforced: false });
    }
  }

  private newPolicy(): Pick<Policy, 'filter' | 'masks' | 'denied' | 'actions'> {
    const { random } = this;
    const denied: Column[] = random.chance(0.2) ? [random.pick(['email', 'n'] as const)] : [];
    const masks: Policy['masks'] = {};
    for (const column of ['email', 'n'] as const)
      if (!denied.includes(column) && random.chance(0.4)) masks[column] = random.pick(maskKinds[column]);
    const actions = random.chance(0.8) ? rowActions : ['read', ...random.some(rowActions.slice(1), 1)];
    return { filter: random.pick(filters), masks, denied, actions };
  }

  private async policy(fields: Partial<Policy>): Promise<Policy> {
    const made = {
      filter: filters[0]!,
      masks: {},
      denied: [],
      actions: rowActions,
      enabled: true,
      enforced: false,
    };
    const policy: Policy = { ...made, ...fields, id: '' };
    const { enabled, enforced } = policy;
    policy.id = await this.world.policy('', {
      connector_id: this.of.connectorId,
      ...policyFields(policy),
      enabled,
      enforced,
    });
    this.state.policies.push(policy);
    return policy;
  }

  private async newGrant(holder: Principal | Group): Promise<void> {
    const { random } = this;
    const actions = random.chance(0.3) ? rowActions : rowActions.filter(() => random.chance(0.6));
    const policies: Policy[] = [];
    for (let at = random.below(3); at > 0; at--) policies.push(await this.policy(this.newPolicy()));
    await this.grant(holder, actions.length > 0 ? actions : ['read'], policies);
  }

  private async grant(holder: Principal | Group, actions: string[], policies: Policy[]): Promise<Grant> {
    const key = actions.join();
    const preset = this.presets.get(key) ?? this.world.preset(...actions);
    this.presets.set(key, preset);
    const id = await this.world.grant(holder, '', {
      connector_id: this.of.connectorId,
      subject_kind: 'kind' in holder ? holder.kind : 'group',
      preset_id: await preset,
      scope_resource_paths: [],
      policy_ids: policies.map((policy) => policy.id),
    });
    const grant = { id, holder, actions, policies };
    this.state.grants.push(grant);
    return grant;
  }

  private async revoke(grant: Grant): Promise<string> {
    this.state.grants = this.state.grants.filter((each) => each !== grant);
    await this.ofTenant('POST', `grants/${grant.id}/revoke`, {});
    return `a grant of ${grant.holder.name} ends`;
  }

  private ofTenant(method: string, end: string, body?: unknown) {
    return done(this.world.tenant.admin.call(method, `${this.world.tenant.base}/${end}`, body));
  }
}

const maskArgs: Record<string, object> = {
  partial: { first: 1, last: 1 },
  constant: { value: '5' },
  round: { to: 10 },
};
const policyFields = ({ filter, masks, denied, actions }: Policy) => ({
  row_filter: filter.text,
  actions,
  columns: { mode: denied.length > 0 ? 'deny' : 'all', names: denied },
  masks: Object.entries(masks).map(([column, kind]) => ({ column, kind, args: maskArgs[kind] ?? {} })),
});
