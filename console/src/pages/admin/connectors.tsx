import { Group, Radio, Stack, Textarea, TextInput } from '@mantine/core';
import {
  connectorKinds,
  connectorNameCharsMax,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  updateConnector,
} from '@svc/contract/connectors.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { NameCell } from '../../components/data-table.tsx';
import { TimeText } from '../../components/display.tsx';
import { SmallLink } from '../../components/page-layout.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { usePage } from '../../components/url-state.ts';
import type { Form } from '../../components/use-form.ts';
import { ConnectorAccess } from './connector-access.tsx';
import { ConnectorViewAs } from './connector-view-as.tsx';
import { AdminItem, AdminList, AdminRoutes, adminPath, FormPage, useAdminForm } from './form-page.tsx';
import { PolicyWarnings } from './policy-warnings.tsx';

export default function ConnectorsTab() {
  return <AdminRoutes list={ConnectorList} create={NewConnector} item={ConnectorPage} />;
}

function NewConnector() {
  const tenant = useTenant();
  const form = useAdminForm(createConnector, 'connectors', emptyConnector, {
    title: 'Register a connector',
    done: 'Connector registered.',
    input: ({ slug, ...body }) => ({
      params: { tenantID: tenant.id },
      body: { ...body, slug: slug || undefined },
    }),
  });
  return <ConnectorForm title="New connector" form={form} />;
}

function ConnectorPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getConnector, { params: { tenantID: tenant.id, connectorID: id } });
  return (
    <AdminItem tab="connectors" what="connector" answer={answer}>
      {(connector) => (
        <Stack gap="md">
          <PolicyWarnings connector={connector.id} />
          <EditConnector connector={connector} />
          <ConnectorAccess connector={connector} />
          <ConnectorViewAs connector={connector} />
        </Stack>
      )}
    </AdminItem>
  );
}

function EditConnector({ connector }: { connector: ConnectorDraft & { id: string } }) {
  const tenant = useTenant();
  const { id, name, slug, kind, description } = connector;
  const record = { name, slug, kind, description };
  const form = useAdminForm(updateConnector, 'connectors', record, {
    title: 'Update a connector',
    verb: 'Save',
    done: 'Connector saved.',
    input: (draft) => ({
      params: { tenantID: tenant.id, connectorID: id },
      body: { name: draft.name, description: draft.description },
    }),
  });
  return <ConnectorForm title={name} form={form} fixedKind={kind} />;
}

function ConnectorList() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listConnectors, { params, query: { page: usePage() } });
  const remove = useChange(deleteConnector, { title: 'Delete a connector', done: 'Connector deleted.' });
  return (
    <AdminList
      tab="connectors"
      noun="connector"
      answer={answer}
      problem={<ProblemAlert error={remove.problem} />}
      command="svc connectors create --name Warehouse --kind postgres --execute"
      lead="A connector is a data source. A grant lets a member use it."
      label="Connectors"
      minWidth={620}
      columns={[
        {
          head: 'Connector',
          cell: ({ id, name, description }) => (
            <NameCell
              to={adminPath(tenant.slug, 'connectors', id)}
              name={name}
              description={description}
              lineClamp={2}
            />
          ),
        },
        { head: 'Kind', cell: ({ kind }) => kindTexts[kind].label },
        { head: 'Slug', cell: ({ slug }) => slug, td: { className: 'mono' } },
        { head: 'Changed', cell: (connector) => <TimeText value={connector.updated_at} /> },
        {
          head: 'Actions',
          cell: ({ id, name }) => (
            <Group gap="xs" wrap="nowrap">
              <SmallLink to={`${adminPath(tenant.slug, 'grants')}?connector=${id}`}>Grants</SmallLink>
              <RowButton
                verb="Delete"
                name={`connector ${name}`}
                onClick={() => void remove.propose({ params: { ...params, connectorID: id } })}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

interface ConnectorDraft {
  name: string;
  slug: string;
  kind: ConnectorKind;
  description: string;
}
const emptyConnector: ConnectorDraft = { name: '', slug: '', kind: 'tables', description: '' };

function ConnectorForm({
  title,
  form,
  fixedKind,
}: {
  title: string;
  form: Form<ConnectorDraft>;
  fixedKind?: ConnectorKind;
}) {
  const { field } = form;
  const isFixed = fixedKind !== undefined;
  return (
    <FormPage tab="connectors" title={title} submit="Save connector" form={form}>
      <Radio.Group
        {...field('kind')}
        description={isFixed ? 'Set at registration. Grants depend on it, so it cannot change.' : undefined}
      >
        <Stack gap="xs" mt="xs">
          {connectorKinds.map((kind) => (
            <Radio
              key={kind}
              value={kind}
              label={kindTexts[kind].label}
              description={kindTexts[kind].description}
              disabled={isFixed && kind !== fixedKind}
            />
          ))}
        </Stack>
      </Radio.Group>
      <TextInput {...field('name')} maxLength={connectorNameCharsMax} required />
      <TextInput
        {...field('slug')}
        description={
          isFixed
            ? 'Used in commands; cannot be changed.'
            : 'Used in commands; derived from the name if empty.'
        }
        placeholder={slugFromName(form.values.name) ?? ''}
        readOnly={isFixed}
        variant={isFixed ? 'filled' : 'default'}
        classNames={{ input: 'mono' }}
      />
      <Textarea {...field('description')} maxLength={1000} />
    </FormPage>
  );
}

type ConnectorKind = (typeof connectorKinds)[number];

const kindTexts: Record<ConnectorKind, { label: string; description: string }> = {
  tables: {
    label: 'App tables',
    description: 'Tables of the apps in this tenant. A scope names an app, or app/table.',
  },
  postgres: {
    label: 'PostgreSQL',
    description: 'An external database. A scope names a schema, or schema/table.',
  },
  mysql: {
    label: 'MariaDB or MySQL',
    description: 'An external database. A scope names a schema, or schema/table.',
  },
  http: {
    label: 'HTTP service',
    description: 'An external service. A scope names an area of it, or area/resource.',
  },
};
