import type { EnvReader } from './env-reader.ts'

const PORT_MAX = 65_535

/** The file in the data folder in which a running Tally stores the host and port of its HTTP API. */
export const API_ADDRESS_FILE = 'api-address'

/** Reads the number of a port; 0 means any free port. */
export const readPort = (read: EnvReader, name: string, about: string, fallback: number): number =>
  read.integer(name, { about: `${about}; 0 takes a free one`, default: fallback, min: 0, max: PORT_MAX })

/** Reads the folder of Tally's data. */
export const readDataDir = (read: EnvReader): string =>
  read.string('DATA_DIR', { about: 'the folder for data and secrets', default: '.data' })

/** Reads the address that a service listens on. */
export const readHost = (read: EnvReader): string =>
  read.string('HOST', { about: 'the address to listen on', default: '127.0.0.1' })
