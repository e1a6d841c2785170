/** What a permission lets its key do. */
export const MAY = {
  'read:all': 'read',
  'write:all': 'write',
  'manage:keys': 'manage keys',
  'read:account': 'read one account',
} as const
