import { expect, test } from 'bun:test';
import { namesOf, noNames } from './app-names.ts';

test('the slug comes from the name, and the subdomain from the slug, until they are said', () => {
  expect(namesOf(noNames)).toEqual({ slug: '', subdomain: '' });
  expect(namesOf({ ...noNames, name: 'Room Booking' })).toEqual({
    slug: 'room-booking',
    subdomain: 'room-booking',
  });
  expect(namesOf({ name: 'Room Booking', slug: ' rooms ', subdomain: '' })).toEqual({
    slug: 'rooms',
    subdomain: 'rooms',
  });
  expect(namesOf({ name: 'Room Booking', slug: '', subdomain: 'r' })).toEqual({
    slug: 'room-booking',
    subdomain: 'r',
  });
});
