import { Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import {
  createServiceAccount,
  deleteServiceAccount,
  describeServiceAccountAction,
  listServiceAccounts,
  type ServiceAccountAction,
  serviceAccountActions,
} from '@svc/contract/service-accounts.ts';
import { IconPlus } from '@tabler/icons-react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, RowButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { ActionBadges, TimeText } from '../../../components/display.tsx';
import { useFormFocus } from '../../../components/focus.ts';
import { FormCard } from '../../../components/form-card.tsx';
import { EmptyState, Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { BoldText } from '../../../components/text.tsx';
import { useUrlValue } from '../../../components/url-state.ts';
import { useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { AccountDetails } from './service-account-details.tsx';

export type ServiceAccount = Answer<NonNullable<typeof listServiceAccounts.shape>>['items'][number];

/** In place of a name in the URL; no name is like it. */
const newAccount = '*';

export function ServiceAccountsCard() {
  const { app, params, why } = useApp();
  const [chosen, setChosen] = useUrlValue('account');
  const isNew = chosen === newAccount;
  const answer = useEndpoint(listServiceAccounts, { params, query: { per_page: perPageMax } });
  const create = (
    <ActionButton
      size="compact-sm"
      icon={IconPlus}
      why={why(createServiceAccount) ?? whyNotActive(app)}
      onClick={() => setChosen(newAccount)}
      data-opens="new-account"
    >
      New service account
    </ActionButton>
  );
  return (
    <Section
      title="Service accounts"
      lead="With a service account, CI or another program acts for the app, also after the person who created it has left."
    >
      {isNew && <NewAccount close={() => setChosen('')} onCreated={setChosen} />}
      <QueryView answer={answer} lines={2}>
        {({ items }) => {
          const account = items.find(({ name }) => name === chosen);
          return (
            <>
              {items.length === 0 ? (
                <EmptyState
                  title="No service accounts yet"
                  command={`svc service-accounts create ci --app ${app.slug} --actions deploy --execute`}
                >
                  The app itself needs none: its running instances can use its tables and storage already.
                </EmptyState>
              ) : (
                <AccountTable accounts={items} chosen={chosen} choose={setChosen} />
              )}
              {!isNew && <Group>{create}</Group>}
              {account && <AccountDetails key={account.id} account={account} />}
            </>
          );
        }}
      </QueryView>
    </Section>
  );
}

interface AccountTableProps {
  accounts: readonly ServiceAccount[];
  chosen: string;
  choose: (name: string) => void;
}

function AccountTable({ accounts, chosen, choose }: AccountTableProps) {
  const { params, why } = useApp();
  const remove = useChange(deleteServiceAccount, {
    title: 'Delete a service account',
    verb: 'Delete',
    done: 'Service account deleted. Its tokens no longer work.',
  });
  return (
    <>
      <DataTable
        label="Service accounts"
        minWidth={620}
        rows={accounts}
        columns={[
          { head: 'Name', cell: ({ name }) => <BoldText>{name}</BoldText> },
          { head: 'Can', cell: ({ actions }) => <ActionBadges actions={actions} /> },
          { head: 'Trusts', cell: ({ trust }) => trustText(trust.length) },
          { head: 'Created', cell: ({ created_at }) => <TimeText value={created_at} /> },
          {
            head: 'Actions',
            cell: ({ id, name }) => (
              <Group gap="xs" wrap="nowrap">
                <RowButton
                  verb={name === chosen ? 'Close' : 'Open'}
                  name={`service account ${name}`}
                  why={null}
                  onClick={() => choose(name === chosen ? '' : name)}
                />
                <RowButton
                  verb="Delete"
                  name={`service account ${name}`}
                  why={why(deleteServiceAccount)}
                  onClick={() => void remove.propose({ params: { ...params, account: id } })}
                />
              </Group>
            ),
          },
        ]}
      />
      <ProblemAlert error={remove.problem} />
    </>
  );
}

const trustText = (rules: number) =>
  rules === 0 ? 'only its tokens' : `${rules} ${rules === 1 ? 'issuer' : 'issuers'}`;

const emptyAccount = { name: '', actions: ['deploy'] as ServiceAccountAction[] };

function NewAccount({ close, onCreated }: { close: () => void; onCreated: (name: string) => void }) {
  const { params } = useApp();
  const ref = useFormFocus('new-account');
  const form = useForm(createServiceAccount, emptyAccount, {
    title: 'Create a service account',
    done: 'Service account created.',
    onDone: ({ name }) => onCreated(name),
    errors: ({ name, actions }) => ({
      name: name.trim() === '' && 'must not be empty',
      actions: actions.length === 0 && 'choose at least one',
    }),
    input: (body) => ({ params, body }),
  });
  return (
    <FormCard
      ref={ref}
      title="New service account"
      form={form}
      submit="Create service account"
      cancel={close}
    >
      <TextInput {...form.field('name')} placeholder="ci" required maw={360} />
      <Checkbox.Group {...form.field('actions')} description="It can use this app only.">
        <Stack mt="xs" gap="xs">
          {serviceAccountActions.map((action) => (
            <Checkbox
              key={action}
              value={action}
              label={action}
              description={describeServiceAccountAction(action)}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <Text size="sm">Next, create a token for it, or trust the issuer of your CI service.</Text>
    </FormCard>
  );
}
