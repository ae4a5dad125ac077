import { SimpleGrid, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { checkAvailability } from '@svc/contract/app-lists.ts';
import { appNameCharsMax } from '@svc/contract/apps.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { type AppNames, namesOf } from './app-names.ts';
import { Availability } from './availability.tsx';

const typedMs = 350;
const below = ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[];

/** Name, slug and subdomain; whether they are free is asked while they are typed. */
export function NameFields({
  names,
  set,
  errorOf,
}: {
  names: AppNames;
  set: (part: Partial<AppNames>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const tenant = useTenant();
  const wanted = namesOf(names);
  const [asked] = useDebouncedValue(wanted, typedMs);
  const answer = useAnswer(
    checkAvailability,
    { params: { tenantID: tenant.id }, query: { slug: asked.slug, subdomain: asked.subdomain } },
    { enabled: asked.slug !== '' },
  );
  const found = asked.slug === '' ? undefined : answer.data;
  const slug = found?.slug?.name === wanted.slug ? found.slug : null;
  const subdomain = found?.subdomain?.name === wanted.subdomain ? found.subdomain : null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <TextInput
        label="Name"
        value={names.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        maxLength={appNameCharsMax}
        error={errorOf('name')}
        required
      />
      <TextInput
        label="Slug"
        description={<Availability of={slug} take={(value) => set({ slug: value })} what="slug" />}
        inputWrapperOrder={below}
        placeholder={wanted.slug}
        value={names.slug}
        onChange={(event) => set({ slug: event.currentTarget.value })}
        error={errorOf('slug')}
        classNames={{ input: 'mono' }}
      />
      <TextInput
        label="Subdomain"
        description={
          <Availability of={subdomain} take={(value) => set({ subdomain: value })} what="subdomain" />
        }
        inputWrapperOrder={below}
        placeholder={wanted.subdomain}
        value={names.subdomain}
        onChange={(event) => set({ subdomain: event.currentTarget.value })}
        error={errorOf('subdomain')}
        classNames={{ input: 'mono' }}
      />
    </SimpleGrid>
  );
}
