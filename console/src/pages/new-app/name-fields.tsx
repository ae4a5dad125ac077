import { Anchor, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { checkAvailability } from '@svc/contract/app-lists.ts';
import { appNameCharsMax } from '@svc/contract/apps.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { descriptionBelow } from '../../components/form-card.tsx';
import type { Form } from '../../components/use-form.ts';
import { type AppNames, resolveNames } from './app-names.ts';

const debounceMs = 350;

export function NameFields({ form }: { form: Pick<Form<AppNames>, 'values' | 'set' | 'field'> }) {
  const tenant = useTenant();
  const names = resolveNames(form.values);
  const [checked] = useDebouncedValue(names, debounceMs);
  const answer = useEndpoint(
    checkAvailability,
    { params: { tenantID: tenant.id }, query: checked },
    { enabled: checked.slug !== '' },
  );
  const found = checked.slug === '' ? undefined : answer.data;
  const slug = found?.slug?.name === names.slug ? found.slug : null;
  const subdomain = found?.subdomain?.name === names.subdomain ? found.subdomain : null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <TextInput {...form.field('name')} maxLength={appNameCharsMax} required />
      <TextInput
        {...form.field('slug')}
        description={
          <Availability
            name={slug}
            hint="Used in URLs and commands."
            onSelect={(value) => form.set({ slug: value })}
          />
        }
        inputWrapperOrder={descriptionBelow}
        placeholder={names.slug}
        classNames={{ input: 'mono' }}
      />
      <TextInput
        {...form.field('subdomain')}
        description={
          <Availability
            name={subdomain}
            hint="Part of the app's host name."
            onSelect={(value) => form.set({ subdomain: value })}
          />
        }
        inputWrapperOrder={descriptionBelow}
        placeholder={names.subdomain}
        classNames={{ input: 'mono' }}
      />
    </SimpleGrid>
  );
}

type Name = Answer<NonNullable<typeof checkAvailability.shape>>['slug'];

const reasons = {
  taken: 'is taken',
  reserved: 'is a reserved word',
  invalid: 'is not valid: lower-case letters, digits and dashes, starting with a letter',
} as const;

function Availability({
  name,
  hint,
  onSelect,
}: {
  name: Name;
  hint: string;
  onSelect: (name: string) => void;
}) {
  if (!name) return <span role="status">{hint}</span>;
  if (name.available) return <span role="status">{name.name} is available.</span>;
  return (
    <Text span inherit fw={600} role="status">
      {name.name} {reasons[name.reason ?? 'taken']}.
      {name.suggestions.length > 0 && (
        <>
          {' '}
          Available:{' '}
          {name.suggestions.map((suggestion, index) => (
            <span key={suggestion}>
              {index > 0 && ', '}
              <Anchor
                component="button"
                type="button"
                inherit
                underline="always"
                onClick={() => onSelect(suggestion)}
              >
                {suggestion}
              </Anchor>
            </span>
          ))}
        </>
      )}
    </Text>
  );
}
