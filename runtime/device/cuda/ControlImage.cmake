# ControlKernels.cu as a fatbin inside gradc_cuda: machine code for the levels of the compiler, linked with the device
# runtime, and PTX for newer GPUs. Without the CUDA toolkit gradc_cuda has no such code, and says so when it is wanted.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  return()
endif()
foreach(tool IN ITEMS nvcc nvlink fatbinary)
  find_program(GRADC_${tool} ${tool} HINTS ${CUDAToolkit_BIN_DIR} NO_DEFAULT_PATH)
endforeach()
find_library(GRADC_cudadevrt cudadevrt HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_BIN_DIR}/../lib NO_DEFAULT_PATH)
if(NOT GRADC_nvcc OR NOT GRADC_nvlink OR NOT GRADC_fatbinary OR NOT GRADC_cudadevrt)
  return()
endif()

set(folder ${CMAKE_CURRENT_BINARY_DIR}/control)
set(source ${CMAKE_CURRENT_SOURCE_DIR}/device/cuda/ControlKernels.cu)
file(MAKE_DIRECTORY ${folder})
set(compile ${GRADC_nvcc} --std=c++20 -O3 -rdc=true -I${GRADC_ROOT} ${source})
set(commands COMMAND ${compile} -ptx -arch=compute_80 -o ${folder}/control.ptx)
set(images --image3=kind=ptx,sm=80,file=${folder}/control.ptx)
foreach(sm IN ITEMS 80 90)
  list(APPEND commands
    COMMAND ${compile} -cubin -arch=sm_${sm} -o ${folder}/object_${sm}.cubin
    COMMAND ${GRADC_nvlink} -arch=sm_${sm} ${folder}/object_${sm}.cubin ${GRADC_cudadevrt} -o ${folder}/sm_${sm}.cubin)
  list(APPEND images --image3=kind=elf,sm=${sm},file=${folder}/sm_${sm}.cubin)
endforeach()
add_custom_command(OUTPUT ${folder}/control.fatbin
  DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/device/cuda/ControlArguments.h ${CMAKE_CURRENT_SOURCE_DIR}/include/gradc/artifact.h
  ${commands}
  COMMAND ${GRADC_fatbinary} -64 --compress-all --compress-mode=size --create=${folder}/control.fatbin ${images})
set_source_files_properties(device/cuda/ControlImage.cpp PROPERTIES
  COMPILE_DEFINITIONS GRADC_CONTROL_IMAGE="${folder}/control.fatbin" OBJECT_DEPENDS ${folder}/control.fatbin)
