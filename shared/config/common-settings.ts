import type { EnvReader } from './env-reader.ts'

const PORT_MAX = 65_535

/** The file in the data folder where a running Tally writes on which host and port it serves the HTTP API. */
export const API_ADDRESS_FILE = 'api-address'

/** Reads a port; 0 takes a free one. */
export const readPort = (read: EnvReader, name: string, about: string, fallback: number): number =>
  read.integer(name, { about: `${about}; 0 takes a free one`, default: fallback, min: 0, max: PORT_MAX })

/** Reads where Tally keeps its data. */
export const readDataDir = (read: EnvReader): string =>
  read.string('DATA_DIR', { about: 'the folder for data and secrets', default: '.data' })

/** Reads the address a service listens on. */
export const readHost = (read: EnvReader): string =>
  read.string('HOST', { about: 'the address to listen on', default: '127.0.0.1' })
