import {
  Avatar,
  Chip,
  ColorSwatch,
  Group,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { discoverApps, searchCharsMax } from '@svc/contract/app-lists.ts';
import { listCategories } from '@svc/contract/categories.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer, Input } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { IconCategory, IconSearch } from '@tabler/icons-react';
import { useSearchParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { NewButton } from '../../components/buttons.tsx';
import { AppIcon, StateBadge } from '../../components/display.tsx';
import { EmptyState, ExternalLink, LinkTo, PageHead, SmallLink } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { Hint, SecondaryButton } from '../../components/text.tsx';
import { usePage, useUrlChoice, useUrlText, useUrlValue } from '../../components/url-state.ts';

export default function CataloguePage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const catalogue = useCatalogue();
  const categories =
    useEndpoint(listCategories, { params, query: { per_page: perPageMax } }).data?.items ?? [];
  const answer = useEndpoint(discoverApps, { params, query: catalogue.query });
  return (
    <>
      <PageHead
        title="Catalogue"
        lead={`Apps of ${tenant.name} that you can use.`}
        actions={<NewButton to={consolePaths.newApp(tenant.slug)} label="New app" />}
      />
      <Stack>
        <CatalogueFilters catalogue={catalogue} />
        <CategoryChips categories={categories} value={catalogue.category} onChange={catalogue.setCategory} />
        <div>
          <PagedList answer={answer} empty={<NoApps catalogue={catalogue} />}>
            {(items, { total, capped }) => (
              <>
                <Hint mb="xs" role="status">
                  {total === 1 ? '1 app' : `${total} apps`}
                  {capped && ', and others that match less well'}
                </Hint>
                <SimpleGrid cols={{ base: 1, xs: 2, lg: 3, xl: 4 }}>
                  {items.map((app) => (
                    <AppCard
                      key={app.id}
                      app={app}
                      to={consolePaths.app(tenant.slug, app.slug)}
                      category={categories.find(({ id }) => id === app.category_id)}
                    />
                  ))}
                </SimpleGrid>
              </>
            )}
          </PagedList>
        </div>
      </Stack>
    </>
  );
}

const perPage = 24;

const sorts = ['usual', '-created_at', 'name', '-updated_at'] as const;
const ages = ['any', '7', '30', '365'] as const;

function useCatalogue() {
  const [typed, type, q] = useUrlText('q');
  const [category, setCategory] = useUrlValue('category');
  const [sort, setSort] = useUrlChoice('sort', 'usual', sorts);
  const [within, setWithin] = useUrlChoice('within', 'any', ages);
  const [, setSearch] = useSearchParams();
  const query: Input<NonNullable<typeof discoverApps.shape>>['query'] = {
    page: usePage(),
    per_page: perPage,
    q: q.trim() || undefined,
    category: category || undefined,
    sort: sort === 'usual' ? undefined : sort,
    created_within_days: within === 'any' ? undefined : Number(within),
  };
  return {
    query,
    typed,
    type,
    category,
    setCategory,
    sort,
    setSort,
    within,
    setWithin,
    isNarrowed: q.trim() !== '' || category !== '' || within !== 'any',
    clear: () => setSearch(new URLSearchParams()),
  };
}

type CatalogueQuery = ReturnType<typeof useCatalogue>;

const sortTexts: Record<(typeof sorts)[number], string> = {
  usual: 'Best match or newest',
  '-created_at': 'Newest first',
  name: 'Name',
  '-updated_at': 'Last changed',
};
const ageTexts: Record<(typeof ages)[number], string> = {
  any: 'Any time',
  '7': 'In the last 7 days',
  '30': 'In the last 30 days',
  '365': 'In the last year',
};

function CatalogueFilters({ catalogue }: { catalogue: CatalogueQuery }) {
  return (
    <Group align="flex-end" gap="sm" role="search" aria-label="Catalogue">
      <TextInput
        label="Search"
        placeholder="Name or purpose"
        type="search"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={catalogue.typed}
        onChange={(event) => catalogue.type(event.currentTarget.value)}
        maxLength={searchCharsMax}
        style={{ flex: '1 1 260px' }}
      />
      <Select
        label="Order"
        data={sorts.map((value) => ({ value, label: sortTexts[value] }))}
        value={catalogue.sort}
        onChange={(value) => catalogue.setSort(sorts.find((one) => one === value) ?? 'usual')}
        allowDeselect={false}
        w={{ base: '100%', xs: 220 }}
      />
      <Select
        label="Created"
        data={ages.map((value) => ({ value, label: ageTexts[value] }))}
        value={catalogue.within}
        onChange={(value) => catalogue.setWithin(ages.find((one) => one === value) ?? 'any')}
        allowDeselect={false}
        w={{ base: '100%', xs: 180 }}
      />
    </Group>
  );
}

function CategoryChips({
  categories,
  value,
  onChange,
}: {
  categories: readonly Category[];
  value: string;
  onChange: (slug: string) => void;
}) {
  if (categories.length === 0) return null;
  const known = categories.find(({ id, slug }) => slug === value || id === value)?.slug ?? '';
  return (
    <Chip.Group value={known} onChange={(next: string) => onChange(next)}>
      <Group gap="xs" role="radiogroup" aria-label="Category">
        <Chip value="" size="sm" variant="outline">
          All categories
        </Chip>
        {categories.map((category) => (
          <Chip key={category.id} value={category.slug} size="sm" variant="outline">
            <Group component="span" gap={6} wrap="nowrap" display="inline-flex">
              <CategoryIcon category={category} />
              {category.name}
            </Group>
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}

type FoundApp = Answer<NonNullable<typeof discoverApps.shape>>['items'][number];

/** The card opens the app; its page in the console is the second action. */
function AppCard({ app, to, category }: { app: FoundApp; to: string; category: Category | undefined }) {
  return (
    <Paper withBorder p="md" component="article" className="covered">
      <Stack gap="sm" h="100%">
        <Group gap="sm" wrap="nowrap">
          <AppIcon app={app} size={44} />
          <Stack gap={0} miw={0}>
            <Title order={2} size="h5" lineClamp={2}>
              {app.url === null ? (
                <LinkTo to={to} inherit className="cover">
                  {app.name}
                </LinkTo>
              ) : (
                <ExternalLink to={app.url} inherit className="cover">
                  {app.name}
                </ExternalLink>
              )}
            </Title>
            {app.owner_name && <Hint lineClamp={1}>by {app.owner_name}</Hint>}
          </Stack>
        </Group>
        <Text size="sm" style={{ flex: 1 }}>
          {app.summary || 'No summary yet.'}
        </Text>
        <Group gap="xs" justify="space-between">
          {category ? (
            <Group gap={6} wrap="nowrap">
              <CategoryIcon category={category} />
              <Text size="sm">{category.name}</Text>
            </Group>
          ) : (
            <span />
          )}
          {app.operating_status !== 'live' && (
            <StateBadge state={app.operating_status} label="not live yet" />
          )}
          <SmallLink to={to} className="above-cover" aria-label={`Details of ${app.name}`}>
            Details
          </SmallLink>
        </Group>
      </Stack>
    </Paper>
  );
}

export type Category = Answer<NonNullable<typeof listCategories.shape>>['items'][number];

function CategoryIcon({ category }: { category: Pick<Category, 'color' | 'icon_url'> }) {
  if (category.icon_url) return <Avatar src={category.icon_url} size={16} radius="xs" alt="" aria-hidden />;
  if (category.color) return <ColorSwatch color={category.color} size={12} aria-hidden />;
  return <IconCategory size={14} aria-hidden />;
}

function NoApps({ catalogue }: { catalogue: CatalogueQuery }) {
  if (!catalogue.isNarrowed)
    return (
      <EmptyState
        title="The catalogue is empty"
        command="svc publish --app hello --visibility public --execute"
      >
        Published apps are listed here. Your own app stays private until you request publication on its page.
      </EmptyState>
    );
  return (
    <EmptyState
      title="No app matches"
      command="svc apps discover --q 'other words'"
      action={<SecondaryButton onClick={catalogue.clear}>Show all apps</SecondaryButton>}
    >
      Try other words, all categories or any time. Private apps of others are not listed; your own are under
      My apps.
    </EmptyState>
  );
}
