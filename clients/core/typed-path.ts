import path from 'node:path'

/** A path as the user typed it: npm runs us in the project's folder, and says in INIT_CWD where the user is. */
export const typedPath = (typed: string, env: NodeJS.ProcessEnv): string =>
  path.resolve(env['INIT_CWD'] ?? '.', typed)
