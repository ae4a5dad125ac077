import { Alert, Code, List, Stack, Text } from '@mantine/core';
import { getTableDrift } from '@svc/contract/deployments.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { BoldText, Mono } from '../../../components/text.tsx';
import { useApp } from '../use-app.tsx';

interface Step {
  text: string;
  destructive: boolean;
  access: string | null;
}

export function SchemaSteps({ steps }: { steps: readonly Step[] }) {
  if (steps.length === 0) return null;
  return (
    <List size="sm" listStyleType="none" aria-label="Changes of tables">
      {steps.map(({ text, destructive, access }) => (
        <List.Item key={text}>
          <Mono>{text}</Mono>
          {access !== null && <Text span>, rules: {access}</Text>}
          {destructive && <BoldText> Loses values</BoldText>}
        </List.Item>
      ))}
    </List>
  );
}

/** Shown only if the tables differ from the svc.yaml of the live build. */
export function SchemaDrift() {
  const { app, params } = useApp();
  const { data } = useEndpoint(getTableDrift, { params });
  if (!data?.deployment || data.steps.length === 0) return null;
  return (
    <Alert color="yellow" title="The tables differ from svc.yaml">
      <Stack gap="xs">
        <Text size="sm">
          svc.yaml of the live deployment #{data.deployment.seq} would change them. The next deployment makes
          the changes, except drops; <Code>svc apply --app {app.slug}</Code> previews them, and{' '}
          <Code>svc tables export --app {app.slug}</Code> prints the tables for svc.yaml.
        </Text>
        <SchemaSteps steps={data.steps} />
      </Stack>
    </Alert>
  );
}
