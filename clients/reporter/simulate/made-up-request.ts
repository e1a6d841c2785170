import { type Random, randomInteger, randomLogNormal } from './seeded-random.ts'

/** The units of simulated usage: metrics by name, and a currency. */
export const SOURCE_NAMES = [
  'simulated_input_tokens',
  'simulated_output_tokens',
  'simulated_compute_seconds',
  'usd',
] as const
export type SourceName = (typeof SOURCE_NAMES)[number]

/** Prices in billionths of a dollar per token, and how often a model is used. */
const MODELS = [
  { name: 'small', weight: 0.6, input: 150, output: 600, msPerToken: 4 },
  { name: 'medium', weight: 0.3, input: 800, output: 4_000, msPerToken: 11 },
  { name: 'large', weight: 0.1, input: 3_000, output: 15_000, msPerToken: 30 },
] as const
const REGIONS = ['eu', 'us', 'ap'] as const

const INPUT_TOKENS_MAX = 200_000
const OUTPUT_TOKENS_MAX = 8_192

/** One request to a made-up language model, with the quantity of each thing that the request used. */
export interface MadeUpRequest {
  model: string
  region: string
  /** Exact decimal text. */
  quantities: Readonly<Record<SourceName, string>>
}

export function makeUpRequest(random: Random): MadeUpRequest {
  const model = pickModel(random())
  const region = REGIONS[randomInteger(random, REGIONS.length)] ?? REGIONS[0]
  const input = tokens(randomLogNormal(random, 650, 1.2), INPUT_TOKENS_MAX)
  const output = tokens(randomLogNormal(random, 150, 1), OUTPUT_TOKENS_MAX)
  return {
    model: model.name,
    region,
    quantities: {
      simulated_input_tokens: String(input),
      simulated_output_tokens: String(output),
      simulated_compute_seconds: decimalText(output * model.msPerToken + randomInteger(random, 500), 3),
      // Whole billionths of a dollar, below 2^53, so no digit is lost in the text.
      usd: decimalText(input * model.input + output * model.output, 9),
    },
  }
}

function pickModel(draw: number): (typeof MODELS)[number] {
  let upTo = 0
  return MODELS.find((model) => draw < (upTo += model.weight)) ?? MODELS[0]
}

const tokens = (wanted: number, max: number): number => Math.min(Math.max(Math.round(wanted), 1), max)

/** Writes a whole number of the smallest units as decimal text: 1234 with 3 places is 1.234. */
function decimalText(units: number, places: number): string {
  const digits = String(units).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}
