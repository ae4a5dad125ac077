import { post, privateApp } from './fixtures.ts';
import { type Person, uniqueName } from './people.ts';
import type { World } from './world.ts';

export async function serviceAccount(world: World, owner: Person) {
  const { app } = await privateApp(world, owner);
  const body = { name: uniqueName('ci'), actions: ['tables', 'deploy'] };
  return { app, account: String((await post(world, owner, `apps/${app}/service-accounts`, body)).id) };
}

export async function serviceToken(world: World, owner: Person) {
  const made = await serviceAccount(world, owner);
  const path = `apps/${made.app}/service-accounts/${made.account}/tokens`;
  return { ...made, tokenID: String((await post(world, owner, path, { name: uniqueName('token') })).id) };
}

export const trustRuleBody = {
  issuer: 'https://token.actions.githubusercontent.com',
  claims: { repository: 'acme/shop' },
};

export async function trustRule(world: World, owner: Person) {
  const made = await serviceAccount(world, owner);
  const path = `apps/${made.app}/service-accounts/${made.account}/trust`;
  const { trust } = await post(world, owner, path, trustRuleBody);
  return { ...made, ruleID: String(trust[0].id) };
}
