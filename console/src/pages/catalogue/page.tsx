import { SimpleGrid, Stack, Text } from '@mantine/core';
import { discoverApps } from '@svc/contract/app-lists.ts';
import { listCategories } from '@svc/contract/categories.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { NewButton } from '../../parts/new-button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { PagedList } from '../../parts/paged-list.tsx';
import { AppCard } from './app-card.tsx';
import { CatalogueFilters } from './catalogue-filters.tsx';
import { CategoryChips } from './category-chips.tsx';
import { NoApps } from './no-apps.tsx';
import { useCatalogue } from './use-catalogue.ts';

/** The apps that are open to one, to look through and to search. */
export default function CataloguePage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const asked = useCatalogue();
  const categories = useAnswer(listCategories, { params, query: { per_page: perPageMax } }).data?.items ?? [];
  const answer = useAnswer(discoverApps, { params, query: asked.query });
  return (
    <>
      <PageHead
        title="Catalogue"
        lead={`Apps of ${tenant.name} that are open to you.`}
        actions={<NewButton to={consolePaths.newApp(tenant.slug)} label="New app" />}
      />
      <Stack>
        <CatalogueFilters asked={asked} />
        <CategoryChips categories={categories} value={asked.category} onChange={asked.setCategory} />
        <div>
          <PagedList answer={answer} empty={<NoApps asked={asked} />}>
            {(items, { total, capped }) => (
              <>
                <Text size="sm" c="dimmed" mb="xs" role="status">
                  {total === 1 ? '1 app' : `${total} apps`}
                  {capped && ', and others that fit less well'}
                </Text>
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
