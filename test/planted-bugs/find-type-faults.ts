import path from 'node:path'
import ts from 'typescript'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { PlantedBug } from './planted-bugs.ts'

/** What the compiler has against a planted bug. */
export interface TypeFault {
  name: string
  /** For example `TS2304: Cannot find name 'ZERO'.` */
  fault: string
}

const inProject = (file: string): string => path.join(PROJECT_ROOT, file)

/**
 * Type-checks code where it is planted. What does not compile is no mistake that somebody could make, and "is found" by
 * its own crash, whatever the suites look at; that happens when the code around it changes. What a mistake leaves unused
 * is not looked at, as code runs with that all the same.
 *
 * Why several at a time: most of what it takes is to begin, so one bug of each file is planted, until all were.
 */
export function findTypeFaults(bugs: readonly PlantedBug[]): TypeFault[] {
  const isOfConsole = ({ file }: PlantedBug) => file.startsWith('console/')
  return [
    ...findIn(
      'tsconfig.json',
      bugs.filter((bug) => !isOfConsole(bug)),
    ),
    ...findIn('console/tsconfig.json', bugs.filter(isOfConsole)),
  ]
}

function findIn(config: string, bugs: readonly PlantedBug[]): TypeFault[] {
  const { options, declarations } = readProject(config)
  const compiler = ts.createCompilerHost(options)
  const read = new Map<string, ts.SourceFile | undefined>()
  const rootNames = [...new Set([...declarations, ...bugs.map(({ file }) => inProject(file))])]
  const faults: TypeFault[] = []
  let oldProgram: ts.Program | undefined
  for (const round of roundsOf(bugs)) {
    const host: ts.CompilerHost = {
      ...compiler,
      getSourceFile(file, language) {
        const bug = round.get(file)
        if (bug !== undefined) return ts.createSourceFile(file, plantedText(file, bug), language)
        // The same object again: what depends on no planted file is not looked at again.
        if (!read.has(file)) read.set(file, compiler.getSourceFile(file, language))
        return read.get(file)
      },
    }
    const program = ts.createProgram({ rootNames, options, host, ...(oldProgram && { oldProgram }) })
    for (const [file, { name }] of round) faults.push(...faultsOf(program, file, name))
    oldProgram = program
  }
  return faults
}

function readProject(config: string): { options: ts.CompilerOptions; declarations: string[] } {
  const unused = { noUnusedLocals: false, noUnusedParameters: false }
  const project = ts.getParsedCommandLineOfConfigFile(
    inProject(config),
    { noEmit: true, incremental: false, ...unused },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '))
      },
    },
  )
  if (project === undefined) throw new Error(`${config} cannot be read`)
  const { options, fileNames } = project
  return { options, declarations: fileNames.filter((file) => file.endsWith('.d.ts')) }
}

/** Each with at most one bug of a file, by the file's whole path. */
function roundsOf(bugs: readonly PlantedBug[]): Map<string, PlantedBug>[] {
  const rounds: Map<string, PlantedBug>[] = []
  for (const bug of bugs) {
    const file = inProject(bug.file)
    const free = rounds.find((round) => !round.has(file))
    if (free === undefined) rounds.push(new Map([[file, bug]]))
    else free.set(file, bug)
  }
  return rounds
}

const plantedText = (file: string, { right, wrong }: PlantedBug): string =>
  (ts.sys.readFile(file) ?? '').replace(right, () => wrong)

function faultsOf(program: ts.Program, file: string, name: string): TypeFault[] {
  const source = program.getSourceFile(file)
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
    ({ code, messageText }) => ({
      name,
      fault: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    }),
  )
}
