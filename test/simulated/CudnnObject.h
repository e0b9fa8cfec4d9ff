// A backend descriptor of the simulated cuDNN: typed attributes, checked when it is finalized.
#ifndef TEST_SIMULATED_CUDNNOBJECT_H
#define TEST_SIMULATED_CUDNNOBJECT_H

#include <cstdint>
#include <map>
#include <vector>

namespace gradc::simulated {

enum CudnnStatus { success = 0, badParameter = 2000, notFinalized = 2003, notSupported = 3000 };

struct CudnnObject {
  int kind;
  bool finalized = false;
  struct Attribute {
    int type = 0;
    int64_t count = 0;
    std::vector<char> bytes;
  };
  std::map<int, Attribute> attributes = {};
  int engine = 0; ///< of a configuration and its engine: 0 rounds to TF32, 1 does not
  uint64_t workspace = 0;

  /// Refuses attributes that the kind does not have, a wrong type, and any change after finalizing.
  int set(int attribute, int type, int64_t count, const void *values);
  /// Refuses descriptors that are incomplete or inconsistent.
  int finalize();

  bool has(int attribute) const { return attributes.count(attribute) != 0; }
  template <typename T> const T *values(int attribute) const {
    return reinterpret_cast<const T *>(attributes.at(attribute).bytes.data());
  }
  template <typename T> T value(int attribute) const { return *values<T>(attribute); }
  const CudnnObject &object(int attribute) const { return **values<CudnnObject *>(attribute); }
};

/// A tensor's numbers.
struct CudnnTensor {
  int64_t id, alignment;
  const int64_t *sizes, *strides; // four
  bool isVirtual;
  explicit CudnnTensor(const CudnnObject &object);
  uint64_t bytes() const;
};

/// A convolution or one of its gradients.
struct CudnnConvolution {
  int kind; ///< 10: forward, 11: of the filter, 12: of the data
  CudnnTensor filter, data, forward;
  const int64_t *low, *high, *stride, *dilation;
  explicit CudnnConvolution(const CudnnObject &operation);
  const CudnnTensor &result() const;
};

} // namespace gradc::simulated

#endif
