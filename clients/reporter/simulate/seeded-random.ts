import { hash } from 'node:crypto'

/** Returns numbers from 0 up to 1. A seed gives the same numbers on every machine. */
export type Random = () => number

/** The generator sfc32 (Chris Doty-Humphrey, PractRand), because Math.random takes no seed. */
export function seededRandom(seed: string): Random {
  const digest = hash('sha256', seed, 'buffer')
  let [a, b, c, counter] = [0, 4, 8, 12].map((at) => digest.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ]
  return () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
}

/** Returns a whole number from 0 to max - 1. */
export const randomInteger = (random: Random, max: number): number => Math.floor(random() * max)

/** Returns a random number with a log-normal distribution: many numbers are small, few are very large. */
export function randomLogNormal(random: Random, median: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return median * Math.exp(sigma * normal)
}

/**
 * Picks indexes from 0 to count - 1 by Zipf's law: index n with a probability in proportion to 1 / (n + 1)^exponent.
 *
 * @param exponent 0 picks all equally often; with 1, the first of a hundred gets a fifth of all picks
 */
export function zipfPicker(count: number, exponent: number): (random: Random) => number {
  const upTo = new Float64Array(count)
  let total = 0
  for (let n = 0; n < count; n++) upTo[n] = total += 1 / (n + 1) ** exponent
  return (random) => {
    const wanted = random() * total
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((upTo[middle] ?? 0) > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
}
