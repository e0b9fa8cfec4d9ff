/* XXH64 of a stream of bytes (the public algorithm by Yann Collet, seed 0), for artifacts and
 * checkpoints. Little endian, like all of the format. */
#ifndef GRADC_HASH_H
#define GRADC_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GRADC_HASH_PRIME1 0x9E3779B185EBCA87u
#define GRADC_HASH_PRIME2 0xC2B2AE3D27D4EB4Fu
#define GRADC_HASH_PRIME3 0x165667B19E3779F9u
#define GRADC_HASH_PRIME4 0x85EBCA77C2B2AE63u
#define GRADC_HASH_PRIME5 0x27D4EB2F165667C5u

/* Bytes that have come so far: gradc_hash_begin, gradc_hash_add as often as wanted, gradc_hash_end. */
typedef struct gradc_hasher {
  uint64_t lanes[4];
  unsigned char pending[32]; /* of a stripe that is not full yet */
  uint64_t total;
} gradc_hasher;

static inline uint64_t gradc_hash_rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static inline uint64_t gradc_hash_load(const unsigned char *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static inline uint64_t gradc_hash_round(uint64_t lane, uint64_t input) {
  return gradc_hash_rotate(lane + input * GRADC_HASH_PRIME2, 31) * GRADC_HASH_PRIME1;
}

/* Takes `count` stripes of 32 bytes. The lanes are independent: four multiplications are under way
 * at a time. */
static inline void gradc_hash_stripes(gradc_hasher *hasher, const unsigned char *at, size_t count) {
  uint64_t a = hasher->lanes[0], b = hasher->lanes[1], c = hasher->lanes[2], d = hasher->lanes[3];
  for (; count; --count, at += 32) {
    a = gradc_hash_round(a, gradc_hash_load(at));
    b = gradc_hash_round(b, gradc_hash_load(at + 8));
    c = gradc_hash_round(c, gradc_hash_load(at + 16));
    d = gradc_hash_round(d, gradc_hash_load(at + 24));
  }
  hasher->lanes[0] = a;
  hasher->lanes[1] = b;
  hasher->lanes[2] = c;
  hasher->lanes[3] = d;
}

static inline gradc_hasher gradc_hash_begin(void) {
  gradc_hasher hasher = {{GRADC_HASH_PRIME1 + GRADC_HASH_PRIME2, GRADC_HASH_PRIME2, 0,
                          0 - GRADC_HASH_PRIME1}, {0}, 0};
  return hasher;
}

static inline void gradc_hash_add(gradc_hasher *hasher, const void *bytes, size_t count) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t held = (size_t)(hasher->total % 32);
  hasher->total += count;
  if (held) {
    size_t missing = 32 - held, taken = count < missing ? count : missing;
    if (taken)
      memcpy(hasher->pending + held, at, taken);
    if (taken < missing)
      return;
    gradc_hash_stripes(hasher, hasher->pending, 1);
    at += taken;
    count -= taken;
  }
  gradc_hash_stripes(hasher, at, count / 32);
  if (count % 32)
    memcpy(hasher->pending, at + count / 32 * 32, count % 32);
}

static inline uint64_t gradc_hash_end(const gradc_hasher *hasher) {
  const unsigned char *at = hasher->pending, *end = at + hasher->total % 32;
  uint64_t hash = GRADC_HASH_PRIME5;
  if (hasher->total >= 32) {
    hash = gradc_hash_rotate(hasher->lanes[0], 1) + gradc_hash_rotate(hasher->lanes[1], 7) +
           gradc_hash_rotate(hasher->lanes[2], 12) + gradc_hash_rotate(hasher->lanes[3], 18);
    for (int i = 0; i < 4; ++i)
      hash = (hash ^ gradc_hash_round(0, hasher->lanes[i])) * GRADC_HASH_PRIME1 + GRADC_HASH_PRIME4;
  }
  hash += hasher->total;
  for (; end - at >= 8; at += 8)
    hash = gradc_hash_rotate(hash ^ gradc_hash_round(0, gradc_hash_load(at)), 27) *
               GRADC_HASH_PRIME1 + GRADC_HASH_PRIME4;
  if (end - at >= 4) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    hash = gradc_hash_rotate(hash ^ word * GRADC_HASH_PRIME1, 23) * GRADC_HASH_PRIME2 +
           GRADC_HASH_PRIME3;
    at += 4;
  }
  for (; at < end; ++at)
    hash = gradc_hash_rotate(hash ^ *at * GRADC_HASH_PRIME5, 11) * GRADC_HASH_PRIME1;
  hash = (hash ^ hash >> 33) * GRADC_HASH_PRIME2;
  hash = (hash ^ hash >> 29) * GRADC_HASH_PRIME3;
  return hash ^ hash >> 32;
}

static inline uint64_t gradc_hash(const void *bytes, size_t count) {
  gradc_hasher hasher = gradc_hash_begin();
  gradc_hash_add(&hasher, bytes, count);
  return gradc_hash_end(&hasher);
}

#endif
