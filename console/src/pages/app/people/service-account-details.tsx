import { Code, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { perPageMax } from '@svc/contract/limits.ts';
import {
  addTrustRule,
  createServiceToken,
  githubIssuer,
  gitlabIssuer,
  listServiceTokens,
  removeTrustRule,
  revokeServiceToken,
  serviceTokenLifeDaysDefault,
  serviceTokenLifeDaysMax,
} from '@svc/contract/service-accounts.ts';
import { useState } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { RowButton } from '../../../components/buttons.tsx';
import { DataTable, NameCell } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { OneTimeSecret } from '../../../components/one-time-secret.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Hint, SubHeading } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import type { ServiceAccount } from './service-accounts.tsx';

export function AccountDetails({ account }: { account: ServiceAccount }) {
  return (
    <Stack gap="md" aria-label={`Service account ${account.name}`} role="group">
      <TrustRules account={account} />
      <Tokens account={account} />
    </Stack>
  );
}

function TrustRules({ account }: { account: ServiceAccount }) {
  const { app, params, tenant, why } = useApp();
  const of = { ...params, account: account.id };
  const remove = useChange(removeTrustRule, {
    title: 'Remove a trust rule',
    done: 'Trust rule removed. Tokens that were issued by it no longer work.',
  });
  return (
    <Stack gap="sm">
      <SubHeading>Trusted CI of {account.name}</SubHeading>
      <Hint>
        Jobs use the account without a secret: set{' '}
        <Code>
          SVC_SERVICE_ACCOUNT={tenant.slug}/{app.slug}/{account.name}
        </Code>
        .
      </Hint>
      {account.trust.length > 0 && (
        <DataTable
          label="Trusted issuers"
          minWidth={520}
          rows={account.trust}
          columns={[
            { head: 'Issuer', cell: ({ issuer }) => <span className="mono">{issuer}</span> },
            {
              head: 'Claims',
              cell: ({ claims }) =>
                Object.entries(claims)
                  .map(([name, pattern]) => `${name} = ${pattern}`)
                  .join(', '),
            },
            {
              head: 'Actions',
              cell: ({ id, issuer }) => (
                <RowButton
                  verb="Remove"
                  name={`trust in ${issuer}`}
                  why={why(removeTrustRule)}
                  onClick={() => void remove.propose({ params: { ...of, ruleID: id } })}
                />
              ),
            },
          ]}
        />
      )}
      <ProblemAlert error={remove.problem} />
      <AddTrust account={account} />
    </Stack>
  );
}

const services = {
  github: { issuer: githubIssuer, label: 'GitHub Actions', placeholder: 'acme/pet-shop' },
  gitlab: { issuer: gitlabIssuer, label: 'GitLab', placeholder: 'acme/web/pet-shop' },
};

function AddTrust({ account }: { account: ServiceAccount }) {
  const { app, params, why } = useApp();
  const [service, setService] = useState<keyof typeof services>('github');
  const form = useForm(
    addTrustRule,
    { repository: '', branch: '' },
    {
      title: `Trust ${services[service].label}`,
      verb: 'Trust',
      done: 'Trust rule added.',
      whyNot: ({ repository }) =>
        why(addTrustRule) ??
        whyNotActive(app) ??
        (repository.trim() === '' ? 'Enter a repository first.' : null),
      input: ({ repository, branch }) => ({
        params: { ...params, account: account.id },
        body: {
          issuer: services[service].issuer,
          claims: claimsFor(service, repository.trim(), branch.trim()),
        },
      }),
    },
  );
  return (
    <FormElement form={form} aria-label="Trust a CI service">
      <Group align="flex-end" gap="sm">
        <Select
          label="CI service"
          data={Object.entries(services).map(([value, { label }]) => ({ value, label }))}
          value={service}
          onChange={(value) => value && setService(value as keyof typeof services)}
          allowDeselect={false}
          w={{ base: '100%', xs: 180 }}
        />
        <TextInput
          {...form.field('repository')}
          label="Repository"
          placeholder={services[service].placeholder}
          w={{ base: '100%', xs: 240 }}
        />
        <TextInput
          {...form.field('branch')}
          label="Branch"
          placeholder="every branch"
          w={{ base: '100%', xs: 160 }}
        />
        <SubmitButton form={form}>Trust</SubmitButton>
      </Group>
      <ProblemAlert error={form.problem} />
    </FormElement>
  );
}

function claimsFor(
  service: keyof typeof services,
  repository: string,
  branch: string,
): Record<string, string> {
  if (service === 'github') return { repository, ...(branch === '' ? {} : { ref: `refs/heads/${branch}` }) };
  return { project_path: repository, ...(branch === '' ? {} : { ref_type: 'branch', ref: branch }) };
}

function Tokens({ account }: { account: ServiceAccount }) {
  const { app, params, why } = useApp();
  const [secret, setSecret] = useState<string | null>(null);
  const of = { ...params, account: account.id };
  const answer = useEndpoint(listServiceTokens, { params: of, query: { per_page: perPageMax } });
  const revoke = useChange(revokeServiceToken, { title: 'Revoke a token', done: 'Token revoked.' });
  const form = useForm(
    createServiceToken,
    { name: '', expires_in_days: serviceTokenLifeDaysDefault as number },
    {
      title: 'Create a token',
      done: 'Token created.',
      onDone: (created) => setSecret(created.secret),
      whyNot: ({ name }) =>
        why(createServiceToken) ?? whyNotActive(app) ?? (name.trim() === '' ? 'Enter a name first.' : null),
      input: (body) => ({ params: of, body }),
    },
  );
  return (
    <Stack gap="sm">
      <SubHeading>Tokens of {account.name}</SubHeading>
      {secret !== null && (
        <OneTimeSecret
          name="token"
          value={secret}
          advice="It is shown only once. Store it with the secrets of your program, never in its code; the command line reads it from SVC_TOKEN."
          dismiss={() => setSecret(null)}
        />
      )}
      <QueryView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Hint>No tokens.</Hint>
          ) : (
            <DataTable
              label="Tokens of the service account"
              minWidth={560}
              rows={items}
              columns={[
                {
                  head: 'Token',
                  cell: ({ name, hint }) => (
                    <NameCell name={name} description={`svcsat_…${hint}`} className="mono" />
                  ),
                },
                { head: 'State', cell: ({ status }) => <StateBadge state={status} /> },
                { head: 'Expires', cell: ({ expires_at }) => <TimeText value={expires_at} /> },
                { head: 'Last used', cell: (token) => <TimeText value={token.last_used_at} empty="never" /> },
                {
                  head: 'Actions',
                  cell: ({ id, name, hint }) => (
                    <RowButton
                      verb="Revoke"
                      name={`token ${name}, ends in ${hint}`}
                      why={why(revokeServiceToken)}
                      onClick={() => void revoke.propose({ params: { ...of, tokenID: id } })}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      <ProblemAlert error={revoke.problem} />
      <FormElement form={form} aria-label="Create a token">
        <Group align="flex-end" gap="sm">
          <TextInput {...form.field('name')} placeholder="nightly import" w={{ base: '100%', xs: 240 }} />
          <NumberInput
            {...form.field('expires_in_days')}
            label="Days until it expires"
            min={1}
            max={serviceTokenLifeDaysMax}
            allowDecimal={false}
            w={{ base: '100%', xs: 180 }}
          />
          <SubmitButton form={form}>Create token</SubmitButton>
        </Group>
        <ProblemAlert error={form.problem} />
      </FormElement>
    </Stack>
  );
}
