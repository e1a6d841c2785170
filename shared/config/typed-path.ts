import path from 'node:path'

/**
 * Resolves a path as the user typed it. npm runs the program in the project's folder, and INIT_CWD has the user's
 * folder.
 */
export const typedPath = (typed: string, env: NodeJS.ProcessEnv): string =>
  path.resolve(env['INIT_CWD'] ?? '.', typed)
